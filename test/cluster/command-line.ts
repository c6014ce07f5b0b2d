import { parseArgs } from 'node:util';
import { parseProgramNames, type ProgramName } from './programs/programs.ts';

type Command =
  | { readonly action: 'build'; readonly programs: readonly ProgramName[] }
  | { readonly action: 'up' | 'down'; readonly name: string }
  | { readonly action: 'enter'; readonly name: string; readonly command: readonly string[] }
  | { readonly action: 'run'; readonly name: string; readonly program: readonly string[] }
  | {
      readonly action: 'test';
      readonly name: string;
      readonly files: readonly string[];
      /** Stop each cluster when its last test has ended. */
      readonly isDownAfter: boolean;
    };

const usage = `npm run test:cluster -- [--name NAME] [--up | --down | --enter COMMAND... | PROGRAM/main.ts ARGUMENT... | [--down] TEST FILE...]
npm run test:cluster -- --build PROGRAM,...`;

/** Throws an error of one sentence for invalid arguments. */
export function parseCommand(args: readonly string[]): Command {
  // The arguments after either of these belong to another program.
  const at = args.findIndex((word) => word === '--enter' || word.endsWith('main.ts'));
  const own = at < 0 ? args : args.slice(0, at);
  const command = args[at] === '--enter' ? args.slice(at + 1) : undefined;
  const program = at < 0 || command !== undefined ? undefined : args.slice(at);
  const { values, positionals: files } = parseArgs({
    args: [...own],
    allowPositionals: true,
    options: {
      name: { type: 'string', default: 'default' },
      up: { type: 'boolean', default: false },
      down: { type: 'boolean', default: false },
      build: { type: 'string' },
    },
  });
  const { name, build } = values;
  const given = command !== undefined || program !== undefined;
  const isDown = values.down && files.length === 0;
  const options = [values.up, isDown, build !== undefined, given, files.length > 0];
  if (options.filter(Boolean).length > 1) throw new Error(`these do not go together\n${usage}`);
  if (build !== undefined) return { action: 'build', programs: parseProgramNames(build) };
  if (command?.length === 0) throw new Error(`--enter needs a command\n${usage}`);
  if (command !== undefined) return { action: 'enter', name, command };
  if (program !== undefined) return { action: 'run', name, program };
  if (values.up) return { action: 'up', name };
  if (isDown) return { action: 'down', name };
  return { action: 'test', name, files, isDownAfter: values.down };
}
