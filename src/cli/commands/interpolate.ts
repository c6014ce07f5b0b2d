import { interpolateTemplate } from '../../bosh/manifest/interpolate-template.ts';
import { envFlags, envUsage, parseEnvArguments } from '../args/env-arguments.ts';
import type { Command } from '../command.ts';
import { printBlock } from '../output/terminal.ts';

export const interpolate: Command = {
  name: 'interpolate',
  aliases: ['int'],
  usage: envUsage.interpolate,
  flags: envFlags('interpolate'),
  documentation: 'docs/variables.md',
  example: 'manifest.yml -o ops.yml -v name=value',
  summary: 'Print a file with its ops files and variables applied',
  json: true,
  async run(args, { terminal, environment, secrets }) {
    const { manifestPath, ...parsed } = parseEnvArguments('interpolate', args);
    const path = manifestPath === '-' ? '/dev/stdin' : manifestPath;
    const found: string[] = [];
    try {
      // The output of this command may be secrets. Errors show none.
      const onSecrets = (values: readonly string[]): void => void found.push(...values);
      printBlock(terminal, await interpolateTemplate({ ...parsed, path, environment, onSecrets }));
    } catch (error) {
      secrets.add(found);
      throw error;
    }
    return 0;
  },
};
