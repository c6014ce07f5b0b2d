import { workloadContract } from './workload-contract.ts';
import { describeControllers } from './describe-controllers.ts';

describeControllers('workloads', workloadContract);
