/** Errors of the system as answers of the service. */
import { unavailable } from '../errors/errors.js';
import { codeOf, isOfSystem } from './durable.js';

/** Converts an error of the system to `unavailable`, whose message begins with `what`; returns other errors unchanged. */
export const asUnavailable = (error: unknown, what: string): unknown =>
  isOfSystem(error) ? unavailable(`${what} (${codeOf(error)})`, error) : error;
