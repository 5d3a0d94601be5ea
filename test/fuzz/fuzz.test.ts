/** A tenth of the cases of `fuzz.long.test.ts`. */
import { describeFuzz } from './describeFuzz.js';

describeFuzz('briefly fuzzed', 1 / 10);
