import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';

/** The path of the bosh CLI: what BOSH_CLI names, else `bosh` on PATH; undefined where neither is there. */
export function boshCli(environment: NodeJS.ProcessEnv = process.env): string | undefined {
  const { BOSH_CLI: named = '', PATH: path = '' } = environment;
  // tests run it in folders of their own
  if (named !== '') return resolve(named);
  const folders = path.split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => resolve(folder, 'bosh')).find(isProgram);
}

/** For `skip` of a test that needs the bosh CLI. */
export function withoutBoshCli(environment: NodeJS.ProcessEnv = process.env): string | false {
  return boshCli(environment) === undefined && 'needs the bosh CLI: bosh on PATH, or BOSH_CLI=<path>';
}

/** Paths of the upstream agent and of the monit that it runs jobs by. */
export interface UpstreamAgent {
  readonly agent: string;
  readonly monit: string;
}

/** What BOSH_AGENT and BOSH_MONIT name; undefined unless both do. */
export function upstreamAgent(environment: NodeJS.ProcessEnv = process.env): UpstreamAgent | undefined {
  const { BOSH_AGENT: agent = '', BOSH_MONIT: monit = '' } = environment;
  if (agent === '' || monit === '') return undefined;
  return { agent: resolve(agent), monit: resolve(monit) };
}

/** For `skip` of a test that needs an upstream agent. */
export function withoutUpstreamAgent(environment: NodeJS.ProcessEnv = process.env): string | false {
  const missing =
    'needs an upstream agent and the monit 5.2.5 of its jobs: BOSH_AGENT=<path> BOSH_MONIT=<path>';
  return upstreamAgent(environment) === undefined && missing;
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
