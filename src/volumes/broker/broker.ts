import type { JsonObject } from './fields.ts';
import type { Answer } from './http/answer.ts';
import { invalid } from './http/answer.ts';
import { isAllowed, shareNotAllowed } from './offerings/allowed-shares.ts';
import type { Offering } from './offerings/offering.ts';
import { bind } from './operations/bind.ts';
import { deprovision } from './operations/deprovision.ts';
import { fetchBinding, fetchInstance, lastOperation } from './operations/fetch.ts';
import { joinMigratedBinding } from './operations/join-migrated-binding.ts';
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
  /** Writes a line of the log. */
  readonly warn: (line: string) => void;
}

/** The operations of OSBAPI 2.17 on instances and bindings. They reject only where the store does. */
export interface Broker {
  provision(id: string, body: unknown): Promise<Answer>;
  update(id: string, body: unknown): Promise<Answer>;
  deprovision(id: string, query: JsonObject): Promise<Answer>;
  fetchInstance(id: string): Promise<Answer>;
  lastInstanceOperation(id: string): Promise<Answer>;
  bind(target: BindingTarget, body: unknown): Promise<Answer>;
  unbind(target: BindingTarget, query: JsonObject): Promise<Answer>;
  fetchBinding(target: BindingTarget): Promise<Answer>;
  lastBindingOperation(target: BindingTarget): Promise<Answer>;
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
  return {
    provision: async (id, body) => {
      const parsed = parseProvision(body, offerings);
      if ('refused' in parsed) return parsed.refused;
      const planned = plannedInstance(id, parsed.request);
      if ('refused' in planned) return planned.refused;
      const { offering } = parsed.request;
      const isChecked = ports.preflight !== 'off' || offering.allowedShares !== undefined;
      // the share of one that is there was checked when it was made
      if (isChecked && (await store.view({ instanceId: id })).instance === undefined) {
        const refused = refuseForced(parsed.request) ?? (await refuseShare(ports, offering, planned.request));
        if (refused !== undefined) return refused;
      }
      return store.change({ instanceId: id }, (view) => provision(view, planned.request, parsed.request));
    },
    update: async (id, body) => {
      const parsed = parseUpdate(body, offerings);
      if ('refused' in parsed) return parsed.refused;
      const { offering } = parsed.request;
      const planned = update(await store.view({ instanceId: id }), id, parsed.request).instance;
      if (planned && Object.hasOwn(parsed.request.parameters, 'share')) {
        const refused = await refuseShare(ports, offering, planned);
        if (refused !== undefined) return refused;
      }
      return store.change({ instanceId: id }, (view) => update(view, id, parsed.request));
    },
    deprovision: async (id, query) => {
      const parsed = parseDeletion(query, offerings);
      if ('refused' in parsed) return parsed.refused;
      return store.changeInstance(id, (view) => deprovision(view, id, parsed.request.offering));
    },
    fetchInstance: async (id) => fetchInstance(await store.view({ instanceId: id }), id, offerings),
    lastInstanceOperation: async (id) => {
      const { instance } = await store.view({ instanceId: id });
      return lastOperation(instance !== undefined, `service instance ${id}`);
    },
    bind: async (target, body) => {
      const parsed = parseBind(body, offerings);
      if ('refused' in parsed) return parsed.refused;
      const { predecessorBindingId } = parsed.request;
      const predecessor =
        predecessorBindingId === undefined
          ? undefined
          : (await store.view({ instanceId: target.instanceId, bindingId: predecessorBindingId })).binding;
      return changeJoined(target, (view) => bind(view, target, parsed.request, { predecessor, scheme }));
    },
    unbind: async (target, query) => {
      const parsed = parseDeletion(query, offerings);
      if ('refused' in parsed) return parsed.refused;
      return changeJoined(target, (view) => unbind(view, target, parsed.request.offering));
    },
    fetchBinding: async (target) => fetchBinding(await viewJoined(target), target, offerings),
    lastBindingOperation: async (target) => {
      const { binding } = await viewJoined(target);
      const exists = binding !== undefined && binding.instanceId === target.instanceId;
      return lastOperation(exists, `service binding ${target.bindingId}`);
    },
  };
}

/** The refusal of a share that an org and space may not have, or whose server does not answer. */
async function refuseShare(
  { preflight, checkShare, warn }: BrokerPorts,
  { protocol, allowedShares }: Offering,
  instance: InstanceRecord,
): Promise<Answer | undefined> {
  const share = String(instance.options['share']);
  if (!isAllowed(allowedShares, share, instance)) return invalid(shareNotAllowed);
  if (preflight === 'off') return undefined;
  const trouble = await checkShare(protocol, share);
  if (trouble === undefined) return undefined;
  if (preflight === 'require') return invalid(`the share cannot be used: ${trouble}`);
  warn(`share of service instance ${instance.id}: ${trouble}`);
  return undefined;
}
