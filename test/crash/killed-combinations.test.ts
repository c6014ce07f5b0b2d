import { combinedCases } from './support/combined-cases.ts';
import { describeKills } from './support/describe-kills.ts';

/** A file of its own: beside the single verbs on the other core. */
describeKills('killed combinations', combinedCases);
