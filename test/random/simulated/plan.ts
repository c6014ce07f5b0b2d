import fc from 'fast-check';
import type { Fate } from './killable-process.ts';

export const verbNames = [
  'create_vm',
  'delete_vm',
  'has_vm',
  'reboot_vm',
  'set_vm_metadata',
  'attach_disk',
  'detach_disk',
  'delete_disk',
  'update_disk',
] as const;
export type VerbName = (typeof verbNames)[number];

export const faultNames = [
  'kill the container of the VM',
  'kill the container of the attachment',
  'delete the attachment',
  'delete the attachment by force',
  'evict the attachment',
  'delete the pod of the VM',
  'delete the claim',
  'cut the node off',
  'the node comes back',
  'the node is out of service',
] as const;
export type FaultName = (typeof faultNames)[number];

export interface PlannedCall {
  readonly verb: VerbName;
  readonly vm: number;
  readonly disk: number;
  /** The director has the agent unmount the disk before detach_disk. */
  readonly isPolite: boolean;
  readonly fate: Fate;
  /** After how many ends of other calls a stopped one goes on. */
  readonly stoppedFor: number;
}

export interface PlannedFault {
  readonly fault: FaultName;
  readonly vm: number;
  readonly disk: number;
}

export type PlannedStep = PlannedCall | PlannedFault;

export interface Plan {
  readonly strategies: readonly ('hot' | 'recreate')[];
  readonly isOneNode: boolean;
  readonly hasAttacher: boolean;
  /** The first disk is attached to the first VM at the beginning. */
  readonly isAttached: boolean;
  /** What each caller does, one step after the other; the callers do not know of each other. */
  readonly callers: readonly (readonly PlannedStep[])[];
}

const strategy = fc.constantFrom('hot' as const, 'recreate' as const);
// of the two a plan is mostly about one
const index = fc.constantFrom(0, 0, 1);

const usual = (verb: VerbName, weight: number): fc.WeightedArbitrary<VerbName> => ({
  arbitrary: fc.constant(verb),
  weight,
});

const call: fc.Arbitrary<PlannedCall> = fc.record({
  verb: fc.oneof(
    usual('attach_disk', 8),
    usual('detach_disk', 8),
    usual('delete_disk', 2),
    usual('update_disk', 3),
    usual('delete_vm', 2),
    usual('create_vm', 2),
    usual('reboot_vm', 1),
    usual('has_vm', 1),
    usual('set_vm_metadata', 1),
  ),
  vm: index,
  disk: index,
  isPolite: fc.constantFrom(true, true, true, false),
  fate: fc.oneof(
    { arbitrary: fc.constant({}), weight: 4 },
    { arbitrary: fc.record({ killedAfter: fc.integer({ min: 1, max: 25 }) }), weight: 1 },
    { arbitrary: fc.record({ stoppedBefore: fc.integer({ min: 1, max: 25 }) }), weight: 2 },
  ),
  stoppedFor: fc.integer({ min: 1, max: 4 }),
});

const fault: fc.Arbitrary<PlannedFault> = fc.record({
  fault: fc.constantFrom(...faultNames),
  vm: index,
  disk: index,
});

const step = fc.oneof({ arbitrary: call, weight: 6 }, { arbitrary: fault, weight: 1 });

export const plans: fc.Arbitrary<Plan> = fc.record({
  strategies: fc.oneof(
    strategy.map((one) => [one, one]),
    fc.tuple(strategy, strategy),
  ),
  isOneNode: fc.boolean(),
  hasAttacher: fc.boolean(),
  isAttached: fc.boolean(),
  callers: fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 3 }),
});
