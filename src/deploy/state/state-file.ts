import { basename, dirname, extname, join } from 'node:path';
import { resolveLinks } from '../../platform/resolve-links.ts';
import { ProductError } from '../../errors/product-error.ts';
import { parsePathSegment, type PathSegment } from '../../platform/path-segment.ts';
import { readRegularFile } from '../../platform/read-file.ts';
import { writeDurably } from '../durable-file.ts';
import { emptyState, formatState, parseState, type DeploymentState } from './deployment-state.ts';

/**
 * Returns the path of a manifest's state file: the requested path, otherwise beside the manifest. A symbolic
 * link is resolved, even if its target does not exist, because the bosh CLI also writes through the link. So
 * all names of a state file share the lock and the files beside it.
 */
export function statePathFor(manifestPath: string, requestedPath?: string): Promise<string> {
  if (requestedPath !== undefined && requestedPath !== '') return resolveLinks(requestedPath);
  const name = `${basename(manifestPath, extname(manifestPath))}-state.json`;
  return resolveLinks(join(dirname(manifestPath), name));
}

/** Reads a state file without changing anything. Returns undefined if there is none. */
export async function readState(path: string): Promise<DeploymentState | undefined> {
  try {
    const text = await readRegularFile(path);
    return text === undefined ? undefined : parseState(text, path);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    // readRegularFile rejects the path as a link if the links form a loop.
    if (['EISDIR', 'ENOTDIR', 'ENAMETOOLONG', 'FILE_NOT_TRUSTED'].includes(code)) throw noFile(path, error);
    throw error;
  }
}

function noFile(path: string, cause: unknown): ProductError {
  return new ProductError(
    'STATE_INVALID',
    `Deployment state file '${path}' is not a file and cannot be created there; name a file with --state`,
    { cause },
  );
}

/** The state file during a run. Every change is on disk before an action that depends on it. */
export class StateFile {
  readonly path: string;
  #state: DeploymentState;

  private constructor(path: string, state: DeploymentState) {
    this.path = path;
    this.#state = state;
  }

  /** Opens or creates the file. A new deployment gets its director id and installation id at once. */
  static async open(path: string, uuid: () => string): Promise<StateFile> {
    const state = (await readState(path)) ?? emptyState;
    const file = new StateFile(path, state);
    if (state.director_id === '' || state.installation_id === '') {
      await file.change((current) => ({
        ...current,
        director_id: current.director_id || uuid(),
        installation_id: current.installation_id || newInstallationId(uuid),
      }));
    }
    return file;
  }

  get state(): DeploymentState {
    return this.#state;
  }

  /** The name of the installed CPI's directory. It is set once the file is open. */
  get installationId(): PathSegment {
    const { installation_id: id } = this.#state;
    if (id === '') throw new Error('a state file without installation_id is open');
    return id;
  }

  async change(change: (state: DeploymentState) => DeploymentState): Promise<void> {
    const next = change(this.#state);
    await writeDurably(this.path, formatState(next));
    this.#state = next;
  }
}

/** Returns a new name for the directory of an installed CPI. */
export function newInstallationId(uuid: () => string): PathSegment {
  const id = parsePathSegment(uuid());
  if (id === undefined) throw new Error('a new id cannot name a folder');
  return id;
}
