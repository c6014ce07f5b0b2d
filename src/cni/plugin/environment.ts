import { CniError, cniErrorCode } from '../cni-error.ts';

export const verbs = ['ADD', 'DEL', 'CHECK', 'GC', 'STATUS', 'VERSION'] as const;
export type Verb = (typeof verbs)[number];

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Call {
  readonly verb: Verb;
  /** The plugin directories of CNI_PATH; empty for VERSION. */
  readonly path: readonly string[];
}

/**
 * The variables of the verbs for one container. Only DEL may come when the network namespace no longer
 * exists.
 */
const ofContainer = ['CNI_CONTAINERID', 'CNI_IFNAME'] as const;
const required: Readonly<Record<Verb, readonly string[]>> = {
  ADD: [...ofContainer, 'CNI_NETNS', 'CNI_PATH'],
  CHECK: [...ofContainer, 'CNI_NETNS', 'CNI_PATH'],
  DEL: [...ofContainer, 'CNI_PATH'],
  GC: ['CNI_PATH'],
  STATUS: ['CNI_PATH'],
  VERSION: [],
};

/** Parses the environment of a call (CNI spec 1.1, section 2). Throws CniError 4. */
export function parseEnvironment(environment: Environment): Call {
  const verb = verbs.find((known) => known === environment['CNI_COMMAND']);
  if (verb === undefined)
    throw invalid(
      `CNI_COMMAND is ${shown(environment['CNI_COMMAND'])}: one of ${verbs.join(', ')} is needed`,
    );
  const missing = required[verb].filter((name) => (environment[name] ?? '') === '');
  if (missing.length > 0) throw invalid(`${verb} needs ${missing.join(', ')} in the environment`);
  if (required[verb].includes('CNI_CONTAINERID')) checkContainer(environment);
  return { verb, path: (environment['CNI_PATH'] ?? '').split(':').filter((directory) => directory !== '') };
}

function checkContainer(environment: Environment): void {
  const id = environment['CNI_CONTAINERID'] ?? '';
  if (!/^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/u.test(id))
    throw invalid(`CNI_CONTAINERID is ${shown(id)}: letters, digits, '_', '.' and '-' are allowed`);
  const name = environment['CNI_IFNAME'] ?? '';
  if (name === '.' || name === '..' || Buffer.byteLength(name) > 15 || /[/:\s]/u.test(name))
    throw invalid(`CNI_IFNAME is ${shown(name)}: that is no name of a network interface`);
}

const invalid = (message: string): CniError => new CniError(cniErrorCode.invalidEnvironment, message);

const shown = (text: string | undefined): string =>
  text === undefined || text === '' ? 'missing' : JSON.stringify(text.slice(0, 100));
