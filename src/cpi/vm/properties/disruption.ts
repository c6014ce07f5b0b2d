import { child, booleanAt } from '../../input.ts';
import type { Topic } from './topic.ts';

export interface Disruption {
  /** The VM's group has a PodDisruptionBudget. */
  readonly budget: boolean;
}

/** `disruption_budget`: true for a group of which a drain may take one VM at a time; off by default. */
export const disruption: Topic<Disruption> = {
  keys: ['disruption_budget'],
  parse: (properties, place) => ({
    budget: booleanAt(properties['disruption_budget'], child(place, 'disruption_budget')) ?? false,
  }),
};
