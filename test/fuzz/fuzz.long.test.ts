/**
 * Mutated input from outside: no crash, no unhandled rejection, no false acceptance. `npm run fuzz` runs for longer.
 */
import { describeFuzz } from './describeFuzz.js';

describeFuzz('fuzzed', 1);
