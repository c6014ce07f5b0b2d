import { collectionContract } from './collection-contract.ts';
import { describeControllers } from './describe-controllers.ts';

describeControllers('collection', collectionContract);
