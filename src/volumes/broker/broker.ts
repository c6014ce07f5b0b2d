import { randomUUID } from 'node:crypto';
import type { JsonObject } from '../../platform/fields.ts';
import type { Answer } from './http/answer.ts';
import { invalid } from './http/answer.ts';
import { isAllowed, shareNotAllowed } from './offerings/allowed-shares.ts';
import type { Offering } from './offerings/offering.ts';
import { bind } from './operations/bind.ts';
import { deprovision } from './operations/deprovision.ts';
import { fetchBinding, fetchInstance, hasSecret } from './operations/fetch.ts';
import { joinMigratedBinding } from './operations/join-migrated-binding.ts';
import type { OperationKind } from './operations/operation.ts';
import {
  begun,
  bindingState,
  instanceState,
  madeInstance,
  polled,
  refuseFetch,
  whenIdle,
  whenProvisioning,
} from './operations/operation.ts';
import { OperationRunner } from './operations/operation-runner.ts';
import { plannedInstance, provision, refuseForced } from './operations/provision.ts';
import { parseBind, parseDeletion, parseProvision, parseUpdate } from './operations/request.ts';
import { unbind } from './operations/unbind.ts';
import { update } from './operations/update.ts';
import type { VolumeIdScheme } from './operations/volume-id.ts';
import type { Preflight, PreflightMode } from './preflight/preflight.ts';
import type { BindingTarget, BrokerStore, Change, View } from './store/broker-store.ts';
import type { InstanceRecord } from './store/record.ts';

export interface BrokerPorts {
  readonly offerings: readonly Offering[];
  readonly store: BrokerStore;
  readonly scheme: VolumeIdScheme;
  readonly preflight: PreflightMode;
  readonly checkShare: Preflight;
  /** Whether changes are answered by polling where the platform accepts that. */
  readonly isAsync: boolean;
  /** Writes a line of the log. */
  readonly warn: (line: string) => void;
}

/** The operations of OSBAPI 2.17 on instances and bindings. They reject only where the store does. */
export interface Broker {
  provision(id: string, body: unknown, query: JsonObject): Promise<Answer>;
  update(id: string, body: unknown, query: JsonObject): Promise<Answer>;
  deprovision(id: string, query: JsonObject): Promise<Answer>;
  fetchInstance(id: string): Promise<Answer>;
  lastInstanceOperation(id: string, query: JsonObject): Promise<Answer>;
  bind(target: BindingTarget, body: unknown, query: JsonObject): Promise<Answer>;
  unbind(target: BindingTarget, query: JsonObject): Promise<Answer>;
  fetchBinding(target: BindingTarget): Promise<Answer>;
  lastBindingOperation(target: BindingTarget, query: JsonObject): Promise<Answer>;
  /** Resolves when no operation runs. */
  idle(): Promise<void>;
}

/** Each operation parses its request, decides by what is stored, and writes once. */
export function broker(ports: BrokerPorts): Broker {
  const { offerings, store, scheme } = ports;
  /** A binding of an old broker is joined first; other instances are not read twice for that. */
  async function viewJoined(target: BindingTarget): Promise<View> {
    const view = await store.view(target);
    if (view.instance?.migrated === undefined) return view;
    await joinMigratedBinding(ports, target);
    return store.view(target);
  }
  async function changeJoined(target: BindingTarget, decide: (view: View) => Change): Promise<Answer> {
    let isMigrated = false;
    const answer = await store.change(target, (view) => {
      isMigrated = view.instance?.migrated !== undefined;
      return isMigrated ? { answer: { status: 200, body: {} } } : decide(view);
    });
    if (!isMigrated) return answer;
    await joinMigratedBinding(ports, target);
    return store.change(target, decide);
  }
  const runner = new OperationRunner({
    store,
    warn: ports.warn,
    refuseShare: async (instance) => {
      const offering = offerings.find(({ id }) => id === instance.serviceId);
      return offering && refuseShare(ports, offering, instance);
    },
  });
  const accepts = (query: JsonObject): boolean => ports.isAsync && query['accepts_incomplete'] === 'true';
  const asAccepted = (change: Change, kind: OperationKind, query: JsonObject): Change =>
    accepts(query) ? polled(change, kind) : change;
  /** Whether a change of a share is checked after its answer. */
  const isCheckedLater = (query: JsonObject): boolean => accepts(query) && ports.preflight !== 'off';
  /** Writes a change, and goes on with what it began or found in progress. */
  async function changeAndRun(id: string, decide: (view: View) => Change): Promise<Answer> {
    const answer = await store.change({ instanceId: id }, decide);
    if (answer.status === 202 || answer.status === 422)
      runner.start((await store.view({ instanceId: id })).instance);
    return answer;
  }

  return {
    provision: async (id, body, query) => {
      const parsed = parseProvision(body, offerings);
      if ('refused' in parsed) return parsed.refused;
      const planned = plannedInstance(id, parsed.request);
      if ('refused' in planned) return planned.refused;
      const { offering } = parsed.request;
      const isLater = isCheckedLater(query);
      const isChecked = ports.preflight !== 'off' || offering.allowedShares !== undefined;
      // the share of one that is there was checked when it was made
      if (isChecked && madeInstance((await store.view({ instanceId: id })).instance) === undefined) {
        const refused =
          refuseForced(parsed.request) ??
          (isLater
            ? refuseNotAllowed(offering, planned.request)
            : await refuseShare(ports, offering, planned.request));
        if (refused !== undefined) return refused;
      }
      const decide = (view: View): Change => provision(view, planned.request, parsed.request);
      if (!accepts(query)) return changeAndRun(id, whenIdle(decide));
      const operation = { id: randomUUID(), kind: 'provision' } as const;
      const begin = (view: View): Change =>
        isLater ? begun(view, decide(view), operation) : polled(decide(view), 'provision');
      return changeAndRun(id, whenProvisioning(planned.request, begin));
    },
    update: async (id, body, query) => {
      const parsed = parseUpdate(body, offerings);
      if ('refused' in parsed) return parsed.refused;
      const { offering } = parsed.request;
      const decide = (view: View): Change => update(view, id, parsed.request);
      const view = await store.view({ instanceId: id });
      const planned = whenIdle(decide)(view).instance;
      const isOtherShare = planned && Object.hasOwn(parsed.request.parameters, 'share');
      const isLater = isOtherShare && isCheckedLater(query);
      if (isOtherShare) {
        const refused = isLater
          ? refuseNotAllowed(offering, planned)
          : await refuseShare(ports, offering, planned);
        if (refused !== undefined) return refused;
      }
      const operation = { id: randomUUID(), kind: 'update' } as const;
      return changeAndRun(
        id,
        whenIdle((now) =>
          isLater ? begun(now, decide(now), operation) : asAccepted(decide(now), 'update', query),
        ),
      );
    },
    deprovision: async (id, query) => {
      const parsed = parseDeletion(query, offerings);
      if ('refused' in parsed) return parsed.refused;
      const { offering } = parsed.request;
      return store.changeInstance(id, (view) =>
        asAccepted(deprovision(view, id, offering), 'deprovision', query),
      );
    },
    fetchInstance: async (id) => {
      const { instance, ...view } = await store.view({ instanceId: id });
      return (
        refuseFetch(instance) ?? fetchInstance({ ...view, instance: madeInstance(instance) }, id, offerings)
      );
    },
    lastInstanceOperation: async (id, query) => {
      const view = await store.view({ instanceId: id });
      runner.start(view.instance);
      return instanceState(view, id, query['operation']);
    },
    bind: async (target, body, query) => {
      const parsed = parseBind(body, offerings);
      if ('refused' in parsed) return parsed.refused;
      const { request } = parsed;
      const { predecessorBindingId } = request;
      const predecessor =
        predecessorBindingId === undefined
          ? undefined
          : (await store.view({ instanceId: target.instanceId, bindingId: predecessorBindingId })).binding;
      const decide = (view: View): Change => {
        const change = bind(view, target, request, { predecessor, scheme });
        // the platform would fetch the mount, and a fetch shows no password
        const hasPassword = change.binding && hasSecret(request.offering, change.binding);
        return hasPassword === true ? change : asAccepted(change, 'bind', query);
      };
      // one that is there has its answer, whatever goes on with the instance
      return changeJoined(target, (view) =>
        view.binding === undefined ? whenIdle(decide)(view) : decide(view),
      );
    },
    unbind: async (target, query) => {
      const parsed = parseDeletion(query, offerings);
      if ('refused' in parsed) return parsed.refused;
      const { offering } = parsed.request;
      return changeJoined(target, (view) => asAccepted(unbind(view, target, offering), 'unbind', query));
    },
    fetchBinding: async (target) => fetchBinding(await viewJoined(target), target, offerings),
    lastBindingOperation: async (target, query) =>
      bindingState(await viewJoined(target), target, query['operation']),
    idle: () => runner.idle(),
  };
}

function refuseNotAllowed({ allowedShares }: Offering, instance: InstanceRecord): Answer | undefined {
  const share = String(instance.options['share']);
  return isAllowed(allowedShares, share, instance) ? undefined : invalid(shareNotAllowed);
}

/** The refusal of a share that an org and space may not have, or whose server does not answer. */
async function refuseShare(
  { preflight, checkShare, warn }: BrokerPorts,
  offering: Offering,
  instance: InstanceRecord,
): Promise<Answer | undefined> {
  const notAllowed = refuseNotAllowed(offering, instance);
  if (notAllowed !== undefined || preflight === 'off') return notAllowed;
  const share = String(instance.options['share']);
  const trouble = await checkShare(offering.protocol, share);
  if (trouble === undefined) return undefined;
  if (preflight === 'require') return invalid(`the share cannot be used: ${trouble}`);
  warn(`share of service instance ${instance.id}: ${trouble}`);
  return undefined;
}
