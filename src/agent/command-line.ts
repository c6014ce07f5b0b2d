import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

export interface CommandLine {
  readonly base: string;
  readonly configPath: string;
  readonly showVersion: boolean;
}

/**
 * Reads upstream's flags (bosh-agent: app/options.go): `-b` base directory, `-C` agent.json, `-v`. In
 * upstream, `-P` and `-M` name the platform and the job supervisor. This agent is both, so it ignores their
 * values. Throws a TypeError of node:util for any other argument.
 */
export function parseCommandLine(args: readonly string[]): CommandLine {
  const { values } = parseArgs({
    args: [...args],
    options: {
      base: { type: 'string', short: 'b', default: '/var/vcap' },
      config: { type: 'string', short: 'C' },
      platform: { type: 'string', short: 'P' },
      supervisor: { type: 'string', short: 'M' },
      version: { type: 'boolean', short: 'v', default: false },
    },
  });
  const base = resolve(values.base);
  return {
    base,
    configPath: values.config ?? join(base, 'bosh', 'agent.json'),
    showVersion: values.version,
  };
}
