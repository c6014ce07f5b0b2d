import type { JsonObject } from '../../platform/json.ts';
import { bind, fetchBinding, unbind } from './bindings.ts';
import {
  deprovision,
  fetchInstance,
  instanceFromRequest,
  lastInstanceOperation,
  lastOperation,
  provision,
  rejectForcedOptions,
  update,
} from './instances.ts';
import { attachImportedBinding } from './migrate/attach-imported-binding.ts';
import { isAllowed, shareNotAllowed, type Offering } from './offerings/offering.ts';
import type { Preflight, PreflightMode } from './preflight.ts';
import { parseBind, parseDeletion, parseProvision, parseUpdate, type ProvisionRequest } from './request.ts';
import { badRequest, type BrokerResponse } from './response.ts';
import type {
  BindingTarget,
  BindingView,
  BrokerStore,
  InstanceRecord,
  StoreUpdate,
} from './store/broker-store.ts';
import type { VolumeIdScheme } from './volume-mount.ts';

interface BrokerDependencies {
  readonly offerings: readonly Offering[];
  readonly store: BrokerStore;
  readonly scheme: VolumeIdScheme;
  readonly preflight: PreflightMode;
  readonly checkShare: Preflight;
  /** Writes a line of the log. */
  readonly warn: (line: string) => void;
}

/**
 * The operations of OSBAPI 2.17 on instances and bindings. Each one parses its request, decides by the stored
 * records, and writes once. All are synchronous, also for a platform that accepts incomplete responses. They
 * reject only if the store fails. All other errors are responses.
 */
export class Broker {
  readonly #dependencies: BrokerDependencies;
  readonly #offerings: readonly Offering[];
  readonly #store: BrokerStore;

  constructor(dependencies: BrokerDependencies) {
    this.#dependencies = dependencies;
    this.#offerings = dependencies.offerings;
    this.#store = dependencies.store;
  }

  async provision(id: string, body: unknown): Promise<BrokerResponse> {
    const parsed = parseProvision(body, this.#offerings);
    if ('error' in parsed) return parsed.error;
    const { request } = parsed;
    const candidate = instanceFromRequest(id, request);
    if ('error' in candidate) return candidate.error;
    const error = await this.#validateNewInstance(candidate.request, request);
    if (error !== undefined) return error;
    return this.#store.change({ instanceId: id }, (view) => provision(view, candidate.request, request));
  }

  async update(id: string, body: unknown): Promise<BrokerResponse> {
    const parsed = parseUpdate(body, this.#offerings);
    if ('error' in parsed) return parsed.error;
    const { request } = parsed;
    const decide = (view: BindingView): StoreUpdate => update(view, id, request);
    const candidate = decide(await this.#store.read({ instanceId: id })).instance;
    if (candidate && Object.hasOwn(request.parameters, 'share')) {
      const error = await this.#validateShare(request.offering, candidate);
      if (error !== undefined) return error;
    }
    return this.#store.change({ instanceId: id }, decide);
  }

  async deprovision(id: string, query: JsonObject): Promise<BrokerResponse> {
    const parsed = parseDeletion(query, this.#offerings);
    if ('error' in parsed) return parsed.error;
    const { offering } = parsed.request;
    return this.#store.updateInstance(id, (view) => deprovision(view, id, offering));
  }

  async fetchInstance(id: string): Promise<BrokerResponse> {
    return fetchInstance(await this.#store.read({ instanceId: id }), id, this.#offerings);
  }

  async lastInstanceOperation(id: string): Promise<BrokerResponse> {
    return lastInstanceOperation(await this.#store.read({ instanceId: id }), id);
  }

  async bind(target: BindingTarget, body: unknown): Promise<BrokerResponse> {
    const parsed = parseBind(body, this.#offerings);
    if ('error' in parsed) return parsed.error;
    const { request } = parsed;
    const { instanceId } = target;
    const bindingId = request.predecessorBindingId;
    const predecessor =
      bindingId === undefined ? undefined : (await this.#store.read({ instanceId, bindingId })).binding;
    const { scheme } = this.#dependencies;
    return this.#updateWithImport(target, (view) => bind(view, target, request, { predecessor, scheme }));
  }

  async unbind(target: BindingTarget, query: JsonObject): Promise<BrokerResponse> {
    const parsed = parseDeletion(query, this.#offerings);
    if ('error' in parsed) return parsed.error;
    const { offering } = parsed.request;
    return this.#updateWithImport(target, (view) => unbind(view, target, offering));
  }

  async fetchBinding(target: BindingTarget): Promise<BrokerResponse> {
    return fetchBinding(await this.#readWithImport(target), target, this.#offerings);
  }

  async lastBindingOperation(target: BindingTarget): Promise<BrokerResponse> {
    const { binding } = await this.#readWithImport(target);
    return lastOperation(binding?.instanceId === target.instanceId, `service binding ${target.bindingId}`);
  }

  /**
   * Reads a binding. Attaches the imported binding of an old broker first. Only imported instances need a
   * second read.
   */
  async #readWithImport(target: BindingTarget): Promise<BindingView> {
    const view = await this.#store.read(target);
    if (view.instance?.migrated === undefined) return view;
    await attachImportedBinding(this.#dependencies, target);
    return this.#store.read(target);
  }

  /** Changes a binding. Attaches the imported binding of an old broker first. */
  async #updateWithImport(
    target: BindingTarget,
    decide: (view: BindingView) => StoreUpdate,
  ): Promise<BrokerResponse> {
    let isImported = false;
    const answer = await this.#store.change(target, (view) => {
      isImported = view.instance?.migrated !== undefined;
      return isImported ? { answer: { status: 200, body: {} } } : decide(view);
    });
    if (!isImported) return answer;
    await attachImportedBinding(this.#dependencies, target);
    return this.#store.change(target, decide);
  }

  /**
   * Returns the error of a new instance whose share cannot be used. Returns undefined for an existing
   * instance, because its share was checked when it was created.
   */
  async #validateNewInstance(
    instance: InstanceRecord,
    request: ProvisionRequest,
  ): Promise<BrokerResponse | undefined> {
    const { offering } = request;
    if (this.#dependencies.preflight === 'off' && offering.allowedShares === undefined) return undefined;
    if ((await this.#store.read({ instanceId: instance.id })).instance !== undefined) return undefined;
    return rejectForcedOptions(request) ?? (await this.#validateShare(offering, instance));
  }

  /**
   * Returns an error if the org and space may not use the share, or if its server cannot be used and
   * preflight is `require`. It runs before the transaction, because a server may take seconds to respond.
   */
  async #validateShare(offering: Offering, instance: InstanceRecord): Promise<BrokerResponse | undefined> {
    const { preflight, checkShare, warn } = this.#dependencies;
    const share = String(instance.options['share']);
    if (!isAllowed(offering.allowedShares, share, instance)) return badRequest(shareNotAllowed);
    const problem = preflight === 'off' ? undefined : await checkShare(offering.protocol, share);
    if (problem === undefined) return undefined;
    if (preflight === 'require') return badRequest(`the share cannot be used: ${problem}`);
    warn(`share of service instance ${instance.id}: ${problem}`);
    return undefined;
  }
}
