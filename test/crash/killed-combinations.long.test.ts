import { combinedCases } from './support/combined-cases.ts';
import { describeKills } from './support/describe-kills.ts';

/** Each does in the same places what killed-verbs.test.ts shows of one strategy and one disk. */
describeKills('killed combinations', combinedCases);
