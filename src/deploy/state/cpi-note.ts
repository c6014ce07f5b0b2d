import { createHmac } from 'node:crypto';
import { toJson } from '../../bosh/yaml/exact-json.ts';
import { ProductError } from '../../errors/product-error.ts';
import { removeDurably, writeDurably } from '../durable-file.ts';
import { readBesideState } from './read-beside-state.ts';
import type { StateFile } from './state-file.ts';

type Properties = Readonly<Record<string, unknown>>;

/** With which configuration the CPI last met what a deployment has. */
interface CpiNote {
  /** Of the state file: the bosh CLI removes that file and leaves this one, which is about nothing then. */
  readonly installation_id: string;
  /** Of cloud_provider.properties, which hold secrets, keyed with the id. */
  readonly properties_hmac: string;
}

export function cpiNotePathFor(statePath: string): string {
  return `${statePath}.cpi`;
}

/**
 * Whether the CPI is configured otherwise than when it last met what the deployment has: it may speak to another cluster or
 * namespace. False where nothing tells, as beside a state of the bosh CLI.
 */
export async function cpiConfigChanged({ path, state }: StateFile, properties: Properties): Promise<boolean> {
  const note = await readBesideState(cpiNotePathFor(path), isCpiNote, (cause) => invalid(path, cause));
  const current = noteOf(state.installation_id, properties);
  return (
    note?.installation_id === current.installation_id && note.properties_hmac !== current.properties_hmac
  );
}

/** To be written once it is known that what the deployment has is where the CPI looks. */
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
