import { randomUUID } from 'node:crypto';
import type { JsonObject } from '../../platform/fields.ts';
import type { BrokerResponse } from './http/answer.ts';
import { badRequest } from './http/answer.ts';
import { isAllowed, shareNotAllowed } from './offerings/allowed-shares.ts';
import type { Offering } from './offerings/offering.ts';
import { bind } from './operations/bind.ts';
import { deprovision } from './operations/deprovision.ts';
import { fetchBinding, fetchInstance, hasSecretOptions } from './operations/fetch.ts';
import { attachImportedBinding } from './operations/join-migrated-binding.ts';
import type { OperationKind } from './operations/operation.ts';
import {
  startOperation,
  bindingState,
  instanceState,
  currentInstance,
  asAsync,
  rejectFetchDuringUpdate,
  rejectIfBusy,
  replayOrRejectIfBusy,
} from './operations/operation.ts';
import { OperationRunner } from './operations/operation-runner.ts';
import { instanceFromRequest, provision, rejectForcedOptions } from './operations/provision.ts';
import { parseBind, parseDeletion, parseProvision, parseUpdate } from './operations/request.ts';
import { unbind } from './operations/unbind.ts';
import { update } from './operations/update.ts';
import type { VolumeIdScheme } from './operations/volume-id.ts';
import type { Preflight, PreflightMode } from './preflight/preflight.ts';
import type { BindingTarget, BrokerStore, StoreUpdate, BindingView } from './store/broker-store.ts';
import type { InstanceRecord } from './store/record.ts';

export interface BrokerPorts {
  readonly offerings: readonly Offering[];
  readonly store: BrokerStore;
  readonly scheme: VolumeIdScheme;
  readonly preflight: PreflightMode;
  readonly checkShare: Preflight;
  /** If true, changes are asynchronous (202 and polling) when the platform accepts that. */
  readonly isAsync: boolean;
  /** Writes a line of the log. */
  readonly warn: (line: string) => void;
}

/**
 * The operations of OSBAPI 2.17 on instances and bindings. They reject only if the store fails. All other
 * errors are responses.
 */
export interface Broker {
  provision(id: string, body: unknown, query: JsonObject): Promise<BrokerResponse>;
  update(id: string, body: unknown, query: JsonObject): Promise<BrokerResponse>;
  deprovision(id: string, query: JsonObject): Promise<BrokerResponse>;
  fetchInstance(id: string): Promise<BrokerResponse>;
  lastInstanceOperation(id: string, query: JsonObject): Promise<BrokerResponse>;
  bind(target: BindingTarget, body: unknown, query: JsonObject): Promise<BrokerResponse>;
  unbind(target: BindingTarget, query: JsonObject): Promise<BrokerResponse>;
  fetchBinding(target: BindingTarget): Promise<BrokerResponse>;
  lastBindingOperation(target: BindingTarget, query: JsonObject): Promise<BrokerResponse>;
  /** Resolves when no operation is running. */
  drain(): Promise<void>;
}

/** Returns the broker. Each operation parses its request, decides by the stored records, and writes once. */
export function broker(ports: BrokerPorts): Broker {
  const { offerings, store, scheme } = ports;
  /**
   * Reads a binding. Attaches the imported binding of an old broker first. Only imported instances need a
   * second read.
   */
  async function readWithImport(target: BindingTarget): Promise<BindingView> {
    const view = await store.read(target);
    if (view.instance?.migrated === undefined) return view;
    await attachImportedBinding(ports, target);
    return store.read(target);
  }
  async function updateWithImport(
    target: BindingTarget,
    decide: (view: BindingView) => StoreUpdate,
  ): Promise<BrokerResponse> {
    let isMigrated = false;
    const answer = await store.change(target, (view) => {
      isMigrated = view.instance?.migrated !== undefined;
      return isMigrated ? { answer: { status: 200, body: {} } } : decide(view);
    });
    if (!isMigrated) return answer;
    await attachImportedBinding(ports, target);
    return store.change(target, decide);
  }
  const runner = new OperationRunner({
    store,
    warn: ports.warn,
    refuseShare: async (instance) => {
      const offering = offerings.find(({ id }) => id === instance.serviceId);
      return offering && validateShare(ports, offering, instance);
    },
  });
  const accepts = (query: JsonObject): boolean => ports.isAsync && query['accepts_incomplete'] === 'true';
  const toAsyncResponse = (change: StoreUpdate, kind: OperationKind, query: JsonObject): StoreUpdate =>
    accepts(query) ? asAsync(change, kind) : change;
  /** Returns true if the share is checked after the response. */
  const defersShareCheck = (query: JsonObject): boolean => accepts(query) && ports.preflight !== 'off';
  /** Writes a change, and runs the operation that the change started or found in progress. */
  async function updateAndStartOperation(
    id: string,
    decide: (view: BindingView) => StoreUpdate,
  ): Promise<BrokerResponse> {
    const answer = await store.change({ instanceId: id }, decide);
    if (answer.status === 202 || answer.status === 422)
      runner.start((await store.read({ instanceId: id })).instance);
    return answer;
  }

  return {
    provision: async (id, body, query) => {
      const parsed = parseProvision(body, offerings);
      if ('error' in parsed) return parsed.error;
      const candidate = instanceFromRequest(id, parsed.request);
      if ('error' in candidate) return candidate.error;
      const { offering } = parsed.request;
      const isDeferred = defersShareCheck(query);
      const isChecked = ports.preflight !== 'off' || offering.allowedShares !== undefined;
      // the share of an existing instance was checked when the instance was created
      if (isChecked && currentInstance((await store.read({ instanceId: id })).instance) === undefined) {
        const refused =
          rejectForcedOptions(parsed.request) ??
          (isDeferred
            ? checkAllowedShares(offering, candidate.request)
            : await validateShare(ports, offering, candidate.request));
        if (refused !== undefined) return refused;
      }
      const decide = (view: BindingView): StoreUpdate => provision(view, candidate.request, parsed.request);
      if (!accepts(query)) return updateAndStartOperation(id, rejectIfBusy(decide));
      const operation = { id: randomUUID(), kind: 'provision' } as const;
      const begin = (view: BindingView): StoreUpdate =>
        isDeferred ? startOperation(view, decide(view), operation) : asAsync(decide(view), 'provision');
      return updateAndStartOperation(id, replayOrRejectIfBusy(candidate.request, begin));
    },
    update: async (id, body, query) => {
      const parsed = parseUpdate(body, offerings);
      if ('error' in parsed) return parsed.error;
      const { offering } = parsed.request;
      const decide = (view: BindingView): StoreUpdate => update(view, id, parsed.request);
      const view = await store.read({ instanceId: id });
      const planned = rejectIfBusy(decide)(view).instance;
      const changesShare = planned && Object.hasOwn(parsed.request.parameters, 'share');
      const isLater = changesShare && defersShareCheck(query);
      if (changesShare) {
        const refused = isLater
          ? checkAllowedShares(offering, planned)
          : await validateShare(ports, offering, planned);
        if (refused !== undefined) return refused;
      }
      const operation = { id: randomUUID(), kind: 'update' } as const;
      return updateAndStartOperation(
        id,
        rejectIfBusy((now) =>
          isLater
            ? startOperation(now, decide(now), operation)
            : toAsyncResponse(decide(now), 'update', query),
        ),
      );
    },
    deprovision: async (id, query) => {
      const parsed = parseDeletion(query, offerings);
      if ('error' in parsed) return parsed.error;
      const { offering } = parsed.request;
      return store.updateInstance(id, (view) =>
        toAsyncResponse(deprovision(view, id, offering), 'deprovision', query),
      );
    },
    fetchInstance: async (id) => {
      const { instance, ...view } = await store.read({ instanceId: id });
      return (
        rejectFetchDuringUpdate(instance) ??
        fetchInstance({ ...view, instance: currentInstance(instance) }, id, offerings)
      );
    },
    lastInstanceOperation: async (id, query) => {
      const view = await store.read({ instanceId: id });
      runner.start(view.instance);
      return instanceState(view, id, query['operation']);
    },
    bind: async (target, body, query) => {
      const parsed = parseBind(body, offerings);
      if ('error' in parsed) return parsed.error;
      const { request } = parsed;
      const { predecessorBindingId } = request;
      const predecessor =
        predecessorBindingId === undefined
          ? undefined
          : (await store.read({ instanceId: target.instanceId, bindingId: predecessorBindingId })).binding;
      const decide = (view: BindingView): StoreUpdate => {
        const change = bind(view, target, request, { predecessor, scheme });
        // an asynchronous response would make the platform fetch the mount, and a fetch shows no password
        const hasPassword = change.binding && hasSecretOptions(request.offering, change.binding);
        return hasPassword === true ? change : toAsyncResponse(change, 'bind', query);
      };
      // an existing binding returns its stored response, even while the instance is being changed
      return updateWithImport(target, (view) =>
        view.binding === undefined ? rejectIfBusy(decide)(view) : decide(view),
      );
    },
    unbind: async (target, query) => {
      const parsed = parseDeletion(query, offerings);
      if ('error' in parsed) return parsed.error;
      const { offering } = parsed.request;
      return updateWithImport(target, (view) =>
        toAsyncResponse(unbind(view, target, offering), 'unbind', query),
      );
    },
    fetchBinding: async (target) => fetchBinding(await readWithImport(target), target, offerings),
    lastBindingOperation: async (target, query) =>
      bindingState(await readWithImport(target), target, query['operation']),
    drain: () => runner.idle(),
  };
}

function checkAllowedShares(
  { allowedShares }: Offering,
  instance: InstanceRecord,
): BrokerResponse | undefined {
  const share = String(instance.options['share']);
  return isAllowed(allowedShares, share, instance) ? undefined : badRequest(shareNotAllowed);
}

/**
 * Returns an error if the org and space may not use the share, or if its server cannot be used and preflight
 * is `require`.
 */
async function validateShare(
  { preflight, checkShare, warn }: BrokerPorts,
  offering: Offering,
  instance: InstanceRecord,
): Promise<BrokerResponse | undefined> {
  const notAllowed = checkAllowedShares(offering, instance);
  if (notAllowed !== undefined || preflight === 'off') return notAllowed;
  const share = String(instance.options['share']);
  const trouble = await checkShare(offering.protocol, share);
  if (trouble === undefined) return undefined;
  if (preflight === 'require') return badRequest(`the share cannot be used: ${trouble}`);
  warn(`share of service instance ${instance.id}: ${trouble}`);
  return undefined;
}
