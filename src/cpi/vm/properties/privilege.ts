import { at } from '../../input.ts';
import type { Profile } from '../profile.ts';
import { optionalProfileAt } from '../profile.ts';
import type { Topic } from './topic.ts';

export interface Privilege {
  readonly profile: Profile;
}

/** `profile`: how much of the node the VM's container may have. */
export const privilege: Topic<Privilege> = {
  keys: ['profile'],
  parse: (properties, place, { defaults }) => ({
    profile: optionalProfileAt(properties['profile'], at(place, 'profile')) ?? defaults.profile,
  }),
};
