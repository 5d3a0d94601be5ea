/** Runs every command of the pages. */
import { describeCommands, READING_ORDER } from '../support/suites/pageCommands.js';

describeCommands('the pages', READING_ORDER);
