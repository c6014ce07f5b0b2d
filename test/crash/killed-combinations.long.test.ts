import { combinedCases } from './support/combined-cases.ts';
import { describeKills } from './support/describe-kills.ts';

/** Each of these does in the same places what killed-verbs.test.ts tests for one strategy and one disk. */
describeKills('killed combinations', combinedCases);
