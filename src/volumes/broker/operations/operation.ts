import { isDeepStrictEqual } from 'node:util';
import type { BrokerResponse } from '../http/answer.ts';
import { errorResponse } from '../http/answer.ts';
import type { BindingTarget, StoreUpdate, BindingView } from '../store/broker-store.ts';
import type { InstanceOperation, InstanceRecord } from '../store/record.ts';

/** The kinds of operation that a platform can poll for. */
export type OperationKind = 'provision' | 'update' | 'deprovision' | 'bind' | 'unbind';

/** Returns the 202 response to an asynchronous change (OSBAPI 2.17, Asynchronous Operations). */
const acceptedResponse = (operation: string): BrokerResponse => ({ status: 202, body: { operation } });

/** Turns a success response into 202 if something is written. Errors and replayed responses are unchanged. */
export function asAsync(change: StoreUpdate, kind: OperationKind): StoreUpdate {
  const isWritten = change.instance !== undefined || change.binding !== undefined;
  return isWritten && change.answer.status < 300 ? { ...change, answer: acceptedResponse(kind) } : change;
}

/**
 * Turns a change of an instance into an operation, which stays in progress until its share has been checked.
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

/** Ignores a failed create. Rejects with ConcurrencyError while another operation is in progress. */
export function rejectIfBusy(decide: (view: BindingView) => StoreUpdate): (view: BindingView) => StoreUpdate {
  return (view) => {
    const { instance } = view;
    if (instance?.operation === undefined) return decide(view);
    if (instance.operation.state === 'in progress') return { answer: concurrencyError(instance) };
    return decide({ ...view, instance: currentInstance(instance) });
  };
}

/**
 * Returns the same 202 again if the same create is repeated while it is in progress. Rejects any other
 * request then.
 */
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

/** Returns the instance without a failed operation, or undefined if that operation was its create. */
export function currentInstance(instance: InstanceRecord | undefined): InstanceRecord | undefined {
  if (instance?.operation === undefined) return instance;
  const { operation, ...made } = instance;
  return operation.kind === 'provision' ? undefined : made;
}

/**
 * Returns the update of an instance at the end of an operation. `error` is set if its share cannot be used.
 */
export function finishOperation(
  { instance }: BindingView,
  id: string,
  error: BrokerResponse | undefined,
): StoreUpdate {
  const answer = { status: 200, body: {} };
  // another request has deleted it, or another broker has finished the operation
  if (instance?.operation?.id !== id || instance.operation.state !== 'in progress') return { answer };
  const { operation, ...rest } = instance;
  if (error === undefined)
    return { answer, instance: { ...rest, options: operation.options ?? rest.options } };
  const description = String(error.body['description']);
  return { answer, instance: { ...instance, operation: { ...operation, state: 'failed', description } } };
}

/** Returns the instance as it will be when its operation has succeeded. */
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

/** Rejects a GET of an instance that is being updated (OSBAPI 2.17, Fetching a Service Instance). */
export const rejectFetchDuringUpdate = (instance: InstanceRecord | undefined): BrokerResponse | undefined =>
  instance?.operation?.kind === 'update' && instance.operation.state === 'in progress'
    ? concurrencyError(instance)
    : undefined;

/**
 * Returns the state of the last operation on an instance. `polledFor` is the `operation` that the platform
 * polls with.
 */
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

/**
 * Returns the state of the last operation on a binding. Bindings are always synchronous, so it has finished.
 */
export function bindingState(
  { binding }: BindingView,
  target: BindingTarget,
  polledFor: unknown,
): BrokerResponse {
  const exists = binding !== undefined && binding.instanceId === target.instanceId;
  return lastOperationOf(exists, polledFor === 'unbind', `service binding ${target.bindingId}`);
}

/** Returns `succeeded` if the object exists. A finished deletion is a 410. */
function lastOperationOf(exists: boolean, isDeletion: boolean, what: string): BrokerResponse {
  if (exists) return { status: 200, body: { state: 'succeeded' } };
  return isDeletion ? { status: 410, body: {} } : errorResponse(404, 'NotFound', `there is no ${what}`);
}
