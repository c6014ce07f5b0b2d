import { child } from '../../input.ts';
import type { SecurityProfile } from '../profile.ts';
import { optionalProfileAt } from '../profile.ts';
import type { Topic } from './topic.ts';

export interface Privilege {
  readonly profile: SecurityProfile;
}

/** `profile`: the access that the VM's container has to the node. */
export const privilege: Topic<Privilege> = {
  keys: ['profile'],
  parse: (properties, place, { defaults }) => ({
    profile: optionalProfileAt(properties['profile'], child(place, 'profile')) ?? defaults.profile,
  }),
};
