import { createHmac } from 'node:crypto';
import { toJson } from '../../bosh/yaml/exact-json.ts';
import { ProductError } from '../../errors/product-error.ts';
import { removeDurably, writeDurably } from '../durable-file.ts';
import { readBesideState } from './read-beside-state.ts';
import type { StateFile } from './state-file.ts';

type Properties = Readonly<Record<string, unknown>>;

/** The CPI configuration that was last used successfully with the deployment's resources. */
interface CpiNote {
  /**
   * The id of the state file that this note belongs to. If they differ, the bosh CLI has deleted the state
   * file without this note, and the note is stale.
   */
  readonly installation_id: string;
  /** HMAC of cloud_provider.properties, which contain secrets. The key is the id. */
  readonly properties_hmac: string;
}

export function cpiNotePathFor(statePath: string): string {
  return `${statePath}.cpi`;
}

/**
 * Returns true if the CPI's configuration has changed since the deployment's resources were last seen, so
 * that the CPI may use another cluster or namespace. Returns false without a note, as beside a state of the
 * bosh CLI.
 */
export async function cpiConfigChanged({ path, state }: StateFile, properties: Properties): Promise<boolean> {
  const note = await readBesideState(cpiNotePathFor(path), isCpiNote, (cause) => invalid(path, cause));
  const current = noteOf(state.installation_id, properties);
  return (
    note?.installation_id === current.installation_id && note.properties_hmac !== current.properties_hmac
  );
}

/** Must be called only after the CPI has found the deployment's resources with these properties. */
export async function writeCpiNote({ path, state }: StateFile, properties: Properties): Promise<void> {
  const note = noteOf(state.installation_id, properties);
  await writeDurably(cpiNotePathFor(path), `${JSON.stringify(note)}\n`);
}

export async function removeCpiNote(statePath: string): Promise<void> {
  await removeDurably(cpiNotePathFor(statePath));
}

function noteOf(installationId: string, properties: Properties): CpiNote {
  const hmac = createHmac('sha256', installationId).update(toJson(properties)).digest('hex');
  return { installation_id: installationId, properties_hmac: hmac };
}

function invalid(statePath: string, cause?: unknown): ProductError {
  return new ProductError(
    'STATE_INVALID',
    `File '${cpiNotePathFor(statePath)}', which tells whether the CPI is configured as before, is not what the deployer wrote; remove it if you know that it is`,
    { cause },
  );
}

function isCpiNote(value: unknown): value is CpiNote {
  if (typeof value !== 'object' || value === null) return false;
  const { installation_id: id, properties_hmac: hmac } = value as Partial<CpiNote>;
  return typeof id === 'string' && typeof hmac === 'string';
}
