import { ProductError } from '../../errors/product-error.ts';
import { removeDurably, writeDurably } from '../durable-file.ts';
import { readBesideState } from './read-beside-state.ts';
import type { StateFile } from './state-file.ts';

/** Two digests of an interpolated manifest, both SHA-512 in hex. */
export interface ManifestDigests {
  /** Digest of the whole manifest, as the bosh CLI records it in the state file. */
  readonly sha512: string;
  /** Digest of the manifest without the CPI's credentials. */
  readonly sha512WithoutCredentials: string;
}

export function digestNotePathFor(statePath: string): string {
  return `${statePath}.digest`;
}

/**
 * Returns the digest to compare with the state file. If the recorded manifest differs from this one only in
 * the CPI's credentials, this is the recorded digest. Otherwise it is the digest of this manifest, also if
 * there is no note about the recorded manifest, as beside a state of the bosh CLI, of an earlier version or
 * of a killed run.
 */
export async function matchingManifestDigest(
  { path, state }: Pick<StateFile, 'path' | 'state'>,
  { sha512, sha512WithoutCredentials }: ManifestDigests,
): Promise<string> {
  const recorded = state.current_manifest_sha;
  if (recorded === '' || recorded === sha512) return sha512;
  const note = await readDigestNote(path);
  const differsInCredentials =
    note?.sha512 === recorded && note.sha512WithoutCredentials === sha512WithoutCredentials;
  return differsInCredentials ? recorded : sha512;
}

/**
 * Writes the note. Must be called before the state file records the manifest: if the run is killed in
 * between, the note does not match the state file and is ignored.
 */
export async function writeDigestNote(
  statePath: string,
  { sha512, sha512WithoutCredentials }: ManifestDigests,
): Promise<void> {
  const text = `${JSON.stringify({ sha512, sha512WithoutCredentials })}\n`;
  await writeDurably(digestNotePathFor(statePath), text);
}

export async function removeDigestNote(statePath: string): Promise<void> {
  await removeDurably(digestNotePathFor(statePath));
}

function readDigestNote(statePath: string): Promise<ManifestDigests | undefined> {
  const path = digestNotePathFor(statePath);
  return readBesideState(path, isDigestNote, (cause) => {
    const message = `File '${path}', which tells whether credentials alone have changed, is not what the deployer wrote; remove it`;
    return new ProductError('STATE_INVALID', message, { cause });
  });
}

function isDigestNote(value: unknown): value is ManifestDigests {
  if (typeof value !== 'object' || value === null) return false;
  const { sha512, sha512WithoutCredentials } = value as Partial<ManifestDigests>;
  return typeof sha512 === 'string' && typeof sha512WithoutCredentials === 'string';
}
