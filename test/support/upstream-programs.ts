import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';

/** Returns the path of the bosh CLI: BOSH_CLI, else `bosh` on PATH; undefined if there is neither. */
export function boshCli(environment: NodeJS.ProcessEnv = process.env): string | undefined {
  const { BOSH_CLI: named = '', PATH: path = '' } = environment;
  // tests run it in other working directories
  if (named !== '') return resolve(named);
  const directories = path.split(delimiter).filter((directory) => directory !== '');
  return directories.map((directory) => resolve(directory, 'bosh')).find(isProgram);
}

/** Returns the value of `skip` for a test that needs the bosh CLI. */
export function withoutBoshCli(environment: NodeJS.ProcessEnv = process.env): string | false {
  return boshCli(environment) === undefined && 'needs the bosh CLI: bosh on PATH, or BOSH_CLI=<path>';
}

/**
 * Paths of the upstream agent, of its monit, and of the program with which it uses a director's blobstore.
 */
export interface UpstreamAgent {
  readonly agent: string;
  readonly monit: string;
  readonly davcli: string | undefined;
}

/** Returns the paths in BOSH_AGENT, BOSH_MONIT and BOSH_DAVCLI; undefined unless the first two are set. */
export function upstreamAgent(environment: NodeJS.ProcessEnv = process.env): UpstreamAgent | undefined {
  const { BOSH_AGENT: agent = '', BOSH_MONIT: monit = '', BOSH_DAVCLI: davcli = '' } = environment;
  if (agent === '' || monit === '') return undefined;
  return {
    ...{ agent: resolve(agent), monit: resolve(monit) },
    davcli: davcli === '' ? undefined : resolve(davcli),
  };
}

/** Returns the value of `skip` for a test that needs an upstream agent. */
export function withoutUpstreamAgent(environment: NodeJS.ProcessEnv = process.env): string | false {
  const missing =
    'needs an upstream agent and the monit 5.2.5 of its jobs: BOSH_AGENT=<path> BOSH_MONIT=<path>';
  return upstreamAgent(environment) === undefined && missing;
}

/** Returns the value of `skip` for a test of an upstream agent under a director. */
export function withoutUpstreamDirectorAgent(environment: NodeJS.ProcessEnv = process.env): string | false {
  const missing = "needs upstream's bosh-davcli: BOSH_DAVCLI=<path>";
  return withoutUpstreamAgent(environment) || (upstreamAgent(environment)?.davcli === undefined && missing);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch (error) {
    if (error instanceof Error && 'code' in error) return false;
    throw error;
  }
}
