import { describeFaults } from './support/describe-faults.ts';
import { isOfRecreate, verbCases } from './support/verb-cases.ts';

/** These calls are in a file of their own so that they run beside those of faults.test.ts. */
describeFaults('faults of the API with the strategy recreate', verbCases.filter(isOfRecreate));
