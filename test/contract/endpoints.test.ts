import { describeControllers } from './describe-controllers.ts';
import { endpointContract } from './endpoint-contract.ts';

describeControllers('endpoints', endpointContract);
