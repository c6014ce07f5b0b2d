import { parseArgs } from 'node:util';
import { ProductError } from '../../errors/product-error.ts';
import { parsePathSegment, segmentProblem } from '../../platform/path-segment.ts';
import type { PathSegment } from '../../platform/path-segment.ts';

/** The names of a job and of one of its processes. */
export interface ProcessName {
  readonly job: PathSegment;
  readonly process: PathSegment;
}

/** A command of bpm (bpm-release: src/bpm/commands). */
export type BpmCommand =
  | { readonly kind: 'help' | 'version' | 'list' }
  | ({ readonly kind: 'start' | 'stop' | 'pid' } & ProcessName)
  | ({
      readonly kind: 'run';
      /** `PATH[:OPTION,OPTION]` */
      readonly volumes: readonly string[];
      /** `NAME=VALUE` */
      readonly variables: readonly string[];
    } & ProcessName);

const containerOnlyCommands = ['logs', 'shell', 'trace'];

/** Reads the arguments of `bpm`. Throws AGENT_BPM_FAILED if they are wrong. */
export function parseCommand(args: readonly string[]): BpmCommand {
  const { values, positionals } = parse(args);
  const [name, job] = positionals;
  if (values.version || name === 'version') return { kind: 'version' };
  if (values.help || name === 'help') return { kind: 'help' };
  switch (name) {
    case 'list':
      return { kind: 'list' };
    case 'start':
    case 'stop':
    case 'pid':
      return { kind: name, ...processName(job, values.process) };
    case 'run': {
      const { volume: volumes, env: variables } = values;
      return { kind: 'run', ...processName(job, values.process), volumes, variables };
    }
    case undefined:
      throw failed("no command given; 'bpm help' lists the commands");
    default:
      throw failed(
        containerOnlyCommands.includes(name)
          ? `bpm on the embedded node does not support '${name}'; 'bpm help' lists the supported commands`
          : `unknown command "${name}" for "bpm"`,
      );
  }
}

// eslint-disable-next-line @typescript-eslint/explicit-function-return-type -- inferred from the options
function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        process: { type: 'string', short: 'p', default: '' },
        volume: { type: 'string', short: 'v', multiple: true, default: [] },
        env: { type: 'string', short: 'e', multiple: true, default: [] },
        version: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    if (error instanceof TypeError) throw failed(error.message);
    throw error;
  }
}

function processName(job: string | undefined, process: string): ProcessName {
  if (job === undefined) throw failed('must specify a job');
  // bpm also accepts -p=NAME.
  const name = process.replace(/^=/, '');
  return { job: pathSegment(job), process: pathSegment(name === '' ? job : name) };
}

function pathSegment(text: string): PathSegment {
  const parsed = parsePathSegment(text);
  if (parsed === undefined) throw failed(segmentProblem(text));
  return parsed;
}

function failed(cause: string): ProductError {
  return new ProductError('AGENT_BPM_FAILED', cause);
}
