import { isDeepStrictEqual } from 'node:util';
import type { BrokerResponse } from '../http/answer.ts';
import { errorResponse } from '../http/answer.ts';
import type { BindingTarget, StoreUpdate, BindingView } from '../store/broker-store.ts';
import type { InstanceOperation, InstanceRecord } from '../store/record.ts';

/** What a platform is told to poll for. */
export type OperationKind = 'provision' | 'update' | 'deprovision' | 'bind' | 'unbind';

/** The answer to a change that the platform then polls for (OSBAPI 2.17, Asynchronous Operations). */
const acceptedResponse = (operation: string): BrokerResponse => ({ status: 202, body: { operation } });

/**
 * A change that is written, answered as one to poll for. Refusals and what is done already stay as they are.
 */
export function asAsync(change: StoreUpdate, kind: OperationKind): StoreUpdate {
  const isWritten = change.instance !== undefined || change.binding !== undefined;
  return isWritten && change.answer.status < 300 ? { ...change, answer: acceptedResponse(kind) } : change;
}

/**
 * A change of an instance that is done when its share has been checked: written as an operation until then.
 */
export function startOperation(
  { instance: before }: BindingView,
  change: StoreUpdate,
  { id, kind }: Pick<InstanceOperation, 'id' | 'kind'>,
): StoreUpdate {
  const { instance: after } = change;
  if (!after) return change;
  const operation = { id, kind, state: 'in progress' } as const;
  const instance =
    kind === 'update' && before !== undefined
      ? { ...before, operation: { ...operation, options: after.options } }
      : { ...after, operation };
  return { answer: acceptedResponse(id), instance };
}

/** Decides by what is made: a create that failed left nothing, and one change waits for another one's end. */
export function rejectIfBusy(decide: (view: BindingView) => StoreUpdate): (view: BindingView) => StoreUpdate {
  return (view) => {
    const { instance } = view;
    if (instance?.operation === undefined) return decide(view);
    if (instance.operation.state === 'in progress') return { answer: concurrencyError(instance) };
    return decide({ ...view, instance: currentInstance(instance) });
  };
}

/** The same create again while it goes on gets the same answer; anything else waits. */
export function replayOrRejectIfBusy(
  planned: InstanceRecord,
  decide: (view: BindingView) => StoreUpdate,
): (view: BindingView) => StoreUpdate {
  return (view) => {
    const { operation, ...stored } = view.instance ?? {};
    const isSame = operation?.kind === 'provision' && isDeepStrictEqual(stored, planned);
    if (isSame && operation.state === 'in progress') return { answer: acceptedResponse(operation.id) };
    return rejectIfBusy(decide)(view);
  };
}

/** The instance without an operation that failed; nothing where that was its create. */
export function currentInstance(instance: InstanceRecord | undefined): InstanceRecord | undefined {
  if (instance?.operation === undefined) return instance;
  const { operation, ...made } = instance;
  return operation.kind === 'provision' ? undefined : made;
}

/** What becomes of an instance at the end of an operation: `refused` says why its share cannot be used. */
export function finishOperation(
  { instance }: BindingView,
  id: string,
  error: BrokerResponse | undefined,
): StoreUpdate {
  const answer = { status: 200, body: {} };
  // deleted meanwhile, or ended by another broker
  if (instance?.operation?.id !== id || instance.operation.state !== 'in progress') return { answer };
  const { operation, ...rest } = instance;
  if (error === undefined)
    return { answer, instance: { ...rest, options: operation.options ?? rest.options } };
  const description = String(error.body['description']);
  return { answer, instance: { ...instance, operation: { ...operation, state: 'failed', description } } };
}

/** The instance as it will be. */
export const pendingInstance = (instance: InstanceRecord): InstanceRecord => ({
  ...instance,
  options: instance.operation?.options ?? instance.options,
});

const concurrencyError = ({ id, operation }: InstanceRecord): BrokerResponse =>
  errorResponse(
    422,
    'ConcurrencyError',
    `the ${operation?.kind === 'update' ? 'update' : 'create'} of service instance ${id} is still in progress; try again when it is done`,
  );

/** GET of an instance that is being updated (OSBAPI 2.17, Fetching a Service Instance). */
export const rejectFetchDuringUpdate = (instance: InstanceRecord | undefined): BrokerResponse | undefined =>
  instance?.operation?.kind === 'update' && instance.operation.state === 'in progress'
    ? concurrencyError(instance)
    : undefined;

/** The state of the last change of an instance. `polled` is what the platform was given to poll with. */
export function instanceState({ instance }: BindingView, id: string, polledFor: unknown): BrokerResponse {
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
  return lastOperationOf(instance !== undefined, polledFor === 'deprovision', `service instance ${id}`);
}

/** The state of the last change of a binding: it is done by the time that it is answered. */
export function bindingState(
  { binding }: BindingView,
  target: BindingTarget,
  polledFor: unknown,
): BrokerResponse {
  const exists = binding !== undefined && binding.instanceId === target.instanceId;
  return lastOperationOf(exists, polledFor === 'unbind', `service binding ${target.bindingId}`);
}

/** 410 says that a deletion is done. */
function lastOperationOf(exists: boolean, isDeletion: boolean, what: string): BrokerResponse {
  if (exists) return { status: 200, body: { state: 'succeeded' } };
  return isDeletion ? { status: 410, body: {} } : errorResponse(404, 'NotFound', `there is no ${what}`);
}
