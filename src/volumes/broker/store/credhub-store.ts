import { createHash } from 'node:crypto';
import { ProductError } from '../../../errors/product-error.ts';
import type {
  BindingRecord,
  BindingView,
  BrokerStore,
  InstanceRecord,
  InstanceView,
  RecordKey,
  StoreUpdate,
} from './broker-store.ts';
import { KeyedQueue } from '../../../platform/keyed-queue.ts';
import type { BrokerResponse } from '../response.ts';
import type { CredhubClient } from '../../credhub/credhub-client.ts';

/** The credential that is written first, to check that the client may write and read. */
const accessProbe = { format: 1 };
/**
 * Timeout of the health check in milliseconds. It is short, so that the check does not hang if CredHub is
 * unavailable.
 */
const healthTimeoutMs = 1_000;

/**
 * A store in CredHub. It has one credential of type json per instance and per binding, below
 * `/<storeId>/volume-broker`, beside those of the old brokers. CredHub has no compare-and-swap, so only one
 * broker process may use a `storeId`. That process serialises the changes of one instance; changes of
 * different instances run concurrently. CredHub encrypts its data.
 */
export class CredhubStore implements BrokerStore {
  readonly #storeId: string;
  readonly #client: CredhubClient;
  readonly #root: string;
  readonly #queue = new KeyedQueue();
  #accessChecked: Promise<void> | undefined;

  constructor(storeId: string, client: CredhubClient) {
    this.#storeId = storeId;
    this.#client = client;
    this.#root = `/${storeId}/volume-broker`;
  }

  read(target: RecordKey): Promise<BindingView> {
    return this.#inQueue(target, () => this.#readView(target));
  }

  change(target: RecordKey, decide: (view: BindingView) => StoreUpdate): Promise<BrokerResponse> {
    return this.#inQueue(target, async () => this.#write(target, decide(await this.#readView(target))));
  }

  updateInstance(instanceId: string, decide: (view: InstanceView) => StoreUpdate): Promise<BrokerResponse> {
    return this.#inQueue({ instanceId }, async () =>
      this.#write({ instanceId }, decide(await this.#readInstanceView(instanceId))),
    );
  }

  async ping(): Promise<void> {
    await this.#client.get(this.#probeName, healthTimeoutMs);
  }

  async close(): Promise<void> {
    this.#client.close();
  }

  get #probeName(): string {
    return `${this.#root}/format`;
  }

  #bindingsPath(instanceId: string): string {
    return `${this.#root}/${credentialSegment(instanceId)}/bindings`;
  }

  #instanceName(id: string): string {
    return `${this.#root}/${credentialSegment(id)}/instance`;
  }

  #bindingName({ instanceId, bindingId = '' }: RecordKey): string {
    return `${this.#bindingsPath(instanceId)}/${credentialSegment(bindingId)}`;
  }

  /** Runs work on an instance after the access check, and after earlier work on the same instance. */
  async #inQueue<T>({ instanceId }: RecordKey, work: () => Promise<T>): Promise<T> {
    this.#accessChecked ??= this.#checkAccess();
    await this.#accessChecked.catch((error: unknown) => {
      this.#accessChecked = undefined;
      throw error;
    });
    return this.#queue.run(instanceId, work);
  }

  /**
   * Checks that the client may read. CredHub responds to a client without read permission as if the
   * credential did not exist, which looks like a deleted record.
   */
  async #checkAccess(): Promise<void> {
    const name = this.#probeName;
    if ((await this.#client.get(name)) !== undefined) return;
    await this.#client.put(name, accessProbe);
    if ((await this.#client.get(name)) !== undefined) return;
    const message = `CredHub does not let the broker read what it wrote to ${name}; give its client the permissions read, write and delete on /${this.#storeId}/*`;
    throw new ProductError('STORE_UNAVAILABLE', message);
  }

  async #readView(target: RecordKey): Promise<BindingView> {
    const { instanceId, bindingId } = target;
    const [instance, binding] = await Promise.all([
      this.#client.get(this.#instanceName(instanceId)),
      bindingId === undefined ? undefined : this.#client.get(this.#bindingName(target)),
    ]);
    // only `#write` writes these credentials, so they are records
    return {
      instance: instance as InstanceRecord | undefined,
      binding: binding as BindingRecord | undefined,
    };
  }

  async #readInstanceView(instanceId: string): Promise<InstanceView> {
    const [{ instance }, bindingIds] = await Promise.all([
      this.#readView({ instanceId }),
      this.#readBindingIds(instanceId),
    ]);
    return { instance, bindingIds };
  }

  async #readBindingIds(instanceId: string): Promise<string[]> {
    const path = this.#bindingsPath(instanceId);
    const names = await this.#client.list(path);
    const ids = names.map(async (name) => {
      const id = name.slice(path.length + 1);
      if (!id.startsWith(hashPrefix)) return id;
      return ((await this.#client.get(name)) as BindingRecord | undefined)?.id;
    });
    return (await Promise.all(ids)).filter((id) => id !== undefined).toSorted();
  }

  async #write(target: RecordKey, { instance, binding, answer }: StoreUpdate): Promise<BrokerResponse> {
    if (binding === null) await this.#client.delete(this.#bindingName(target));
    if (instance === null) await this.#client.delete(this.#instanceName(target.instanceId));
    if (instance) await this.#client.put(this.#instanceName(target.instanceId), instance);
    if (binding) await this.#client.put(this.#bindingName(target), binding);
    return answer;
  }
}

const hashPrefix = 'sha256.';

/**
 * Returns a part of a credential name for an id. Credential names are case-insensitive, have at most 255
 * characters and no tilde; other ids are hashed.
 */
const credentialSegment = (id: string): string =>
  /^[a-z0-9-]{1,64}$/u.test(id) ? id : `${hashPrefix}${createHash('sha256').update(id).digest('hex')}`;
