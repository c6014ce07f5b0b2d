import { isDeepStrictEqual } from 'node:util';
import type { Answer } from '../http/answer.ts';
import { refusal } from '../http/answer.ts';
import type { BindingTarget, Change, View } from '../store/broker-store.ts';
import type { InstanceOperation, InstanceRecord } from '../store/record.ts';

/** What a platform is told to poll for. */
export type OperationKind = 'provision' | 'update' | 'deprovision' | 'bind' | 'unbind';

/** The answer to a change that the platform then polls for (OSBAPI 2.17, Asynchronous Operations). */
const accepted = (operation: string): Answer => ({ status: 202, body: { operation } });

/**
 * A change that is written, answered as one to poll for. Refusals and what is done already stay as they are.
 */
export function polled(change: Change, kind: OperationKind): Change {
  const isWritten = change.instance !== undefined || change.binding !== undefined;
  return isWritten && change.answer.status < 300 ? { ...change, answer: accepted(kind) } : change;
}

/**
 * A change of an instance that is done when its share has been checked: written as an operation until then.
 */
export function begun(
  { instance: before }: View,
  change: Change,
  { id, kind }: Pick<InstanceOperation, 'id' | 'kind'>,
): Change {
  const { instance: after } = change;
  if (!after) return change;
  const operation = { id, kind, state: 'in progress' } as const;
  const instance =
    kind === 'update' && before !== undefined
      ? { ...before, operation: { ...operation, options: after.options } }
      : { ...after, operation };
  return { answer: accepted(id), instance };
}

/** Decides by what is made: a create that failed left nothing, and one change waits for another one's end. */
export function whenIdle(decide: (view: View) => Change): (view: View) => Change {
  return (view) => {
    const { instance } = view;
    if (instance?.operation === undefined) return decide(view);
    if (instance.operation.state === 'in progress') return { answer: busy(instance) };
    return decide({ ...view, instance: madeInstance(instance) });
  };
}

/** The same create again while it goes on gets the same answer; anything else waits. */
export function whenProvisioning(
  planned: InstanceRecord,
  decide: (view: View) => Change,
): (view: View) => Change {
  return (view) => {
    const { operation, ...stored } = view.instance ?? {};
    const isSame = operation?.kind === 'provision' && isDeepStrictEqual(stored, planned);
    if (isSame && operation.state === 'in progress') return { answer: accepted(operation.id) };
    return whenIdle(decide)(view);
  };
}

/** The instance without an operation that failed; nothing where that was its create. */
export function madeInstance(instance: InstanceRecord | undefined): InstanceRecord | undefined {
  if (instance?.operation === undefined) return instance;
  const { operation, ...made } = instance;
  return operation.kind === 'provision' ? undefined : made;
}

/** What becomes of an instance at the end of an operation: `refused` says why its share cannot be used. */
export function ended({ instance }: View, id: string, refused: Answer | undefined): Change {
  const answer = { status: 200, body: {} };
  // deleted meanwhile, or ended by another broker
  if (instance?.operation?.id !== id || instance.operation.state !== 'in progress') return { answer };
  const { operation, ...rest } = instance;
  if (refused === undefined)
    return { answer, instance: { ...rest, options: operation.options ?? rest.options } };
  const description = String(refused.body['description']);
  return { answer, instance: { ...instance, operation: { ...operation, state: 'failed', description } } };
}

/** The instance as it will be. */
export const plannedBy = (instance: InstanceRecord): InstanceRecord => ({
  ...instance,
  options: instance.operation?.options ?? instance.options,
});

const busy = ({ id, operation }: InstanceRecord): Answer =>
  refusal(
    422,
    'ConcurrencyError',
    `the ${operation?.kind === 'update' ? 'update' : 'create'} of service instance ${id} is still in progress; try again when it is done`,
  );

/** GET of an instance that is being updated (OSBAPI 2.17, Fetching a Service Instance). */
export const refuseFetch = (instance: InstanceRecord | undefined): Answer | undefined =>
  instance?.operation?.kind === 'update' && instance.operation.state === 'in progress'
    ? busy(instance)
    : undefined;

/** The state of the last change of an instance. `polled` is what the platform was given to poll with. */
export function instanceState({ instance }: View, id: string, polledFor: unknown): Answer {
  const operation = instance?.operation;
  if (operation !== undefined) {
    const { state, description, kind } = operation;
    return {
      status: 200,
      body: {
        state,
        ...(description === undefined ? {} : { description }),
        ...(state === 'failed' && kind === 'update'
          ? { instance_usable: true, update_repeatable: true }
          : {}),
      },
    };
  }
  return recordState(instance !== undefined, polledFor === 'deprovision', `service instance ${id}`);
}

/** The state of the last change of a binding: it is done by the time that it is answered. */
export function bindingState({ binding }: View, target: BindingTarget, polledFor: unknown): Answer {
  const exists = binding !== undefined && binding.instanceId === target.instanceId;
  return recordState(exists, polledFor === 'unbind', `service binding ${target.bindingId}`);
}

/** 410 says that a deletion is done. */
function recordState(exists: boolean, isDeletion: boolean, what: string): Answer {
  if (exists) return { status: 200, body: { state: 'succeeded' } };
  return isDeletion ? { status: 410, body: {} } : refusal(404, 'NotFound', `there is no ${what}`);
}
