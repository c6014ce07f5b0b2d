import { parseSecretReference } from '../signature/secret-reference.ts';
import { withoutSecrets } from './log.ts';
import { MountError } from './mount/mount-error.ts';
import type { VolumeRecord } from './volume-store.ts';
import {
  addMount,
  type CreateOptions,
  mountCount,
  removeMount,
  type Volume,
  type VolumeMounts,
} from './volume-mounts.ts';
import { parseVolumeName, type VolumeName } from '../options/volume-name.ts';
import { isObject } from '../../platform/json.ts';

/** The member of every response of the protocol. */
interface PluginResponse {
  readonly Err: string;
}

interface MountAnswer extends PluginResponse {
  readonly Mountpoint: string;
}

/** A volume in a response of the protocol. */
interface VolumeInfo {
  readonly Name: string;
  readonly Mountpoint: string;
  readonly MountCount: number;
}

/** A request body of the protocol, which is untrusted. */
interface VolumeRequest {
  readonly Name?: unknown;
  readonly ID?: unknown;
  readonly Opts?: unknown;
}

const ok: PluginResponse = { Err: '' };
const notMountedError = (Err: string): MountAnswer => ({ Err, Mountpoint: '' });

/** The verbs of the Docker plugin protocol, with the messages of the old drivers. */
export class VolumeDriver {
  readonly #mounts: VolumeMounts;

  constructor(mounts: VolumeMounts) {
    this.#mounts = mounts;
  }

  async create({ Name, Opts: options }: VolumeRequest): Promise<PluginResponse> {
    const parsed = parseVolumeName(Name);
    if ('problem' in parsed) return { Err: parsed.problem };
    const { name } = parsed;
    if (!isObject(options) || typeof options['source'] !== 'string')
      return { Err: "Missing mandatory 'source' field in 'Opts'" };
    return this.#mounts.inQueue(name, async () => {
      this.#mounts.ports.log.info('create', { volume: name, opts: withoutSecrets(options) });
      const known = this.#mounts.get(name) ?? { record: this.#newRecord(name), options };
      if (mountCount(known.record) > 0) this.#mounts.put({ ...known, nextOptions: options });
      else this.#mounts.put({ record: { ...known.record, ...withoutPassword(options) }, options });
      return ok;
    });
  }

  /**
   * Mounts a volume. `clientClosed` is aborted if the client disconnects; a mount that completes after that
   * is rolled back.
   */
  async mount({ Name, ID }: VolumeRequest, clientClosed: AbortSignal): Promise<MountAnswer> {
    const parsed = parseVolumeName(Name);
    if ('problem' in parsed) return notMountedError(parsed.problem);
    const { name } = parsed;
    return this.#mounts.inQueue(name, async () => {
      const volume = this.#mounts.get(name);
      if (volume === undefined)
        return notMountedError(`Volume '${name}' must be created before being mounted`);
      const Err = await this.#runVerb('mount', name, async () => {
        const id = idIn(ID);
        const isKept = volume.record.isKept || id !== undefined;
        const next = withNextOptions(volume);
        const requested = { ...next, record: { ...next.record, isKept } };
        const withMount = (record: VolumeRecord): VolumeRecord => addMount(record, id);
        if (!(await this.#isHealthy(requested)))
          return this.#mounts.mount(requested, clientClosed, withMount);
        // nothing is mounted and only the options change, so verify them here; a changed password is
        // accepted, because the signature does not cover it
        this.#mounts.ports.verifyOptions(name, requested.options ?? requested.record.options);
        this.#mounts.put({ ...requested, record: withMount(requested.record) });
      });
      return { Err, Mountpoint: Err === '' ? this.#mounts.targetOf(name) : '' };
    });
  }

  async unmount({ Name, ID }: VolumeRequest): Promise<PluginResponse> {
    const parsed = parseVolumeName(Name);
    if ('problem' in parsed) return { Err: parsed.problem };
    const { name } = parsed;
    return this.#mounts.inQueue(name, async () => {
      const volume = this.#mounts.get(name);
      if (volume === undefined) return { Err: `Volume '${name}' not found` };
      const id = idIn(ID);
      const isUnmounting = volume.record.phase === 'unmounting';
      const record = removeMount(volume.record, id) ?? (isUnmounting ? volume.record : undefined);
      if (record === undefined) {
        // Docker repeats the request if it got no response
        if (id !== undefined) return ok;
        // volman has no other verb for a volume whose mount failed
        if (!volume.record.isKept) await this.#mounts.forget(name);
        const path = this.#mounts.targetOf(name);
        return { Err: `Volume ${name} does not exist (path: ${path}): volume not previously mounted` };
      }
      const Err = await this.#runVerb('unmount', name, async () => {
        if (mountCount(record) > 0) return this.#mounts.put({ ...volume, record });
        await this.#mounts.unmount({ ...volume, record }, record.isKept ? 'keep' : 'forget');
      });
      return { Err };
    });
  }

  async remove({ Name }: VolumeRequest): Promise<PluginResponse> {
    const parsed = parseVolumeName(Name);
    if ('problem' in parsed) return { Err: parsed.problem };
    const { name } = parsed;
    return this.#mounts.inQueue(name, async () => {
      const volume = this.#mounts.get(name);
      if (volume === undefined) return ok;
      const Err = await this.#runVerb('remove', name, async () => {
        const record = { ...volume.record, count: 0, ids: [] };
        if (record.phase === 'created') await this.#mounts.forget(name);
        else await this.#mounts.unmount({ ...volume, record }, 'forget');
      });
      return { Err };
    });
  }

  get({ Name }: VolumeRequest): { readonly Volume: VolumeInfo; readonly Err: string } {
    const parsed = parseVolumeName(Name);
    const volume = 'problem' in parsed ? undefined : this.#mounts.get(parsed.name);
    if (volume !== undefined) return { Volume: { ...this.#infoOf(volume), MountCount: 0 }, Err: '' };
    const none = { Name: '', Mountpoint: '', MountCount: 0 };
    return { Volume: none, Err: 'problem' in parsed ? parsed.problem : 'volume not found' };
  }

  list(): { readonly Volumes: readonly VolumeInfo[]; readonly Err: string } {
    return { Volumes: this.#mounts.all().map((volume) => this.#infoOf(volume)), Err: '' };
  }

  path({ Name }: VolumeRequest): MountAnswer {
    const parsed = parseVolumeName(Name);
    if ('problem' in parsed) return notMountedError(parsed.problem);
    const volume = this.#mounts.get(parsed.name);
    if (volume === undefined) return notMountedError(`Volume '${parsed.name}' not found`);
    const { Mountpoint } = this.#infoOf(volume);
    return { Err: Mountpoint === '' ? 'volume not previously mounted' : '', Mountpoint };
  }

  async #isHealthy({ record: { name, phase } }: Volume): Promise<boolean> {
    if (phase !== 'mounted') return false;
    const health = await this.#mounts.probe(this.#mounts.targetOf(name));
    if (health !== 'answers') this.#mounts.ports.log.info('mount-broken', { volume: name, health });
    return health === 'answers';
  }

  /** Runs a verb on a volume. Returns `Err`, which is JSON if developers may read it. */
  async #runVerb(verb: string, volume: VolumeName, work: () => Promise<void> | void): Promise<string> {
    const { log } = this.#mounts.ports;
    try {
      await work();
      log.info(verb, { volume });
      return '';
    } catch (error) {
      log.error(verb, error, { volume });
      if (error instanceof MountError)
        return JSON.stringify({ SafeDescription: `${error.code}: ${error.message}` });
      return error instanceof Error ? error.message : String(error);
    }
  }

  #newRecord(name: VolumeName): VolumeRecord {
    const { bootId } = this.#mounts.ports;
    return {
      name,
      phase: 'created',
      options: {},
      lacksSecrets: false,
      count: 0,
      ids: [],
      isKept: false,
      bootId,
    };
  }

  #infoOf({ record }: Volume): VolumeInfo {
    const { name, phase } = record;
    const Mountpoint = phase === 'created' ? '' : this.#mounts.targetOf(name);
    return { Name: name, Mountpoint, MountCount: mountCount(record) };
  }
}

/** Returns the volume with the options of the last Create. */
function withNextOptions({ record, options, nextOptions }: Volume): Volume {
  if (nextOptions === undefined) return { record, options };
  return { record: { ...record, ...withoutPassword(nextOptions) }, options: nextOptions };
}

/** Splits off the password. A reference to a password is not secret, so it stays. */
function withoutPassword(options: CreateOptions): Pick<VolumeRecord, 'options' | 'lacksSecrets'> {
  const { password, ...others } = options;
  const isReference = typeof password === 'string' && parseSecretReference(password) !== undefined;
  return password === undefined || isReference
    ? { options, lacksSecrets: false }
    : { options: others, lacksSecrets: true };
}

const idIn = (ID: unknown): string | undefined => (typeof ID === 'string' && ID !== '' ? ID : undefined);
