import { ProductError } from '../../../errors/product-error.ts';

export interface ContainerCommand {
  /** Program and arguments; the program is looked up in the environment's PATH. */
  readonly command: readonly string[];
  readonly environment: ReadonlyMap<string, string>;
}

function quote(argument: string): string {
  if (argument.includes('\0')) {
    throw new ProductError(
      'INVALID_ARGUMENT',
      'a command or environment of a container holds a NUL character',
    );
  }
  return `'${argument.replaceAll("'", "'\\''")}'`;
}

/**
 * The file that container-init.sh and container-exec.sh source: it makes what env(1) gets their arguments, `NAME=value` words,
 * then the command. As a command of the shell's, which reads its own text in blocks, and what read(1) reads byte by byte: an entry of
 * a VM has ten thousand of them. In a file because argv of the runtime's processes is readable by every user of the machine, and because
 * the environment of a pod (LD_PRELOAD) must not reach the stages that run with the node's rights.
 */
export function formatCommandFile({ command, environment }: ContainerCommand): string {
  const [program] = command;
  if (program === undefined || program === '' || program.includes('=')) {
    throw new ProductError('INVALID_ARGUMENT', `a container cannot run ${JSON.stringify(program ?? '')}`);
  }
  const variables = [...environment].map(([name, value]) => `${name}=${value}`);
  return `set -- ${[...variables, ...command].map(quote).join(' ')}\n`;
}
