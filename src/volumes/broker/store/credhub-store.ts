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
import type { CredhubClient } from '../../credhub/credhub-client.ts';

/** The credential that is written first, to check that the client may write and read. */
const accessProbe = { format: 1 };
/**
 * Timeout of the health check in milliseconds. It is short, so that the check does not hang if CredHub is
 * unavailable.
 */
const healthTimeoutMs = 1_000;

/**
 * Opens a store in CredHub. It has one credential of type json per instance and per binding, below
 * `/<storeId>/volume-broker`, beside those of the old brokers. CredHub has no compare-and-swap, so only one
 * broker process may use a `storeId`. That process serialises the changes of one instance; changes of
 * different instances run concurrently. CredHub encrypts its data.
 */
export function openCredhubStore(storeId: string, client: CredhubClient): BrokerStore {
  const root = `/${storeId}/volume-broker`;
  const bindingsOf = (instanceId: string): string => `${root}/${credentialSegment(instanceId)}/bindings`;
  const instanceName = (id: string): string => `${root}/${credentialSegment(id)}/instance`;
  const bindingName = ({ instanceId, bindingId = '' }: RecordKey): string =>
    `${bindingsOf(instanceId)}/${credentialSegment(bindingId)}`;
  const inTurn = KeyedQueue();
  let permitted: Promise<void> | undefined;

  /**
   * Checks that the client may read. CredHub responds to a client without read permission as if the
   * credential did not exist, which looks like a deleted record.
   */
  async function checkAccess(): Promise<void> {
    const name = `${root}/format`;
    if ((await client.get(name)) !== undefined) return;
    await client.put(name, accessProbe);
    if ((await client.get(name)) !== undefined) return;
    const message = `CredHub does not let the broker read what it wrote to ${name}; give its client the permissions read, write and delete on /${storeId}/*`;
    throw new ProductError('STORE_UNAVAILABLE', message);
  }
  async function afterAccessCheck<T>(work: () => Promise<T>): Promise<T> {
    permitted ??= checkAccess();
    await permitted.catch((error: unknown) => {
      permitted = undefined;
      throw error;
    });
    return work();
  }

  async function bindingIds(instanceId: string): Promise<string[]> {
    const path = bindingsOf(instanceId);
    const names = await client.list(path);
    const ids = names.map(async (name) => {
      const id = name.slice(path.length + 1);
      if (!id.startsWith(hashPrefix)) return id;
      return ((await client.get(name)) as BindingRecord | undefined)?.id;
    });
    return (await Promise.all(ids)).filter((id) => id !== undefined).toSorted();
  }
  async function look(target: RecordKey): Promise<BindingView> {
    const { instanceId, bindingId } = target;
    const [instance, binding] = await Promise.all([
      client.get(instanceName(instanceId)),
      bindingId === undefined ? undefined : client.get(bindingName(target)),
    ]);
    // only `write` writes these credentials, so they are records
    return {
      instance: instance as InstanceRecord | undefined,
      binding: binding as BindingRecord | undefined,
    };
  }
  async function lookAtInstance(instanceId: string): Promise<InstanceView> {
    const [{ instance }, ids] = await Promise.all([look({ instanceId }), bindingIds(instanceId)]);
    return { instance, bindingIds: ids };
  }
  async function write(target: RecordKey, { instance, binding }: StoreUpdate): Promise<void> {
    if (binding === null) await client.delete(bindingName(target));
    if (instance === null) await client.delete(instanceName(target.instanceId));
    if (instance) await client.put(instanceName(target.instanceId), instance);
    if (binding) await client.put(bindingName(target), binding);
  }

  return {
    read: (target) => afterAccessCheck(() => inTurn(target.instanceId, () => look(target))),
    change: (target, decide) =>
      afterAccessCheck(() =>
        inTurn(target.instanceId, async () => {
          const change = decide(await look(target));
          await write(target, change);
          return change.answer;
        }),
      ),
    updateInstance: (instanceId, decide) =>
      afterAccessCheck(() =>
        inTurn(instanceId, async () => {
          const change = decide(await lookAtInstance(instanceId));
          await write({ instanceId }, change);
          return change.answer;
        }),
      ),
    ping: async () => void (await client.get(`${root}/format`, healthTimeoutMs)),
    close: async () => client.close(),
  };
}

const hashPrefix = 'sha256.';

/**
 * Returns a part of a credential name for an id. Credential names are case-insensitive, have at most 255
 * characters and no tilde; other ids are hashed.
 */
const credentialSegment = (id: string): string =>
  /^[a-z0-9-]{1,64}$/u.test(id) ? id : `${hashPrefix}${createHash('sha256').update(id).digest('hex')}`;

/** Returns a queue that runs the work of one key in order, one at a time. */
function KeyedQueue(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    const before = last.get(key) ?? Promise.resolve();
    const mine = before.then(work, work);
    last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (last.get(key) === mine) last.delete(key);
    }
  };
}
