import { StringDecoder } from 'node:string_decoder';
import { vmContainer } from '../../cpi/objects/layout.ts';
import { streamExec, type ExecStreams } from '../../kubernetes/client/stream-exec.ts';
import { findVmPod } from '../cluster/find-resources.ts';
import { withKubernetes } from '../cluster/kubeconfig.ts';
import type { CommandContext } from '../command.ts';
import type { Terminal } from '../output/terminal.ts';

/** The container of a VM, which is reached through the Kubernetes API. */
export interface VmContainer {
  readonly vmCid: string;
  /** Runs a program as root and returns its exit code. For errors see streamExec. */
  readonly run: (command: readonly string[], streams: ExecStreams) => Promise<number>;
}

/**
 * Runs `action` with the container of a VM in the cluster of a kubeconfig. Returns undefined if the cluster
 * has no such VM.
 */
export function withVmContainer<T>(
  { kubeconfig, vmCid }: { readonly kubeconfig: string; readonly vmCid: string },
  { environment, secrets }: Pick<CommandContext, 'environment' | 'secrets'>,
  action: (container: VmContainer) => Promise<T>,
): Promise<T | undefined> {
  return withKubernetes(
    kubeconfig,
    async (api, access) => {
      const pod = await findVmPod(api, access.namespace, vmCid);
      if (pod === undefined) return undefined;
      const { name, namespace = access.namespace } = pod.metadata;
      const target = { namespace, pod: name, container: vmContainer };
      return action({
        vmCid,
        run: (command, streams) => streamExec(access, { ...target, command }, streams),
      });
    },
    { environment, onSecrets: secrets.add },
  );
}

/** The exit code of a command that an interrupt has ended, as of a shell after SIGINT. */
const interruptedExit = 130;

/** The streams of the process that runs a command in a VM. */
export interface ProcessStreams {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}

/**
 * Runs a command in a VM as `ssh` does: with the streams of this process, and on a terminal if there is no
 * command and the operator has one. The VM's shell joins the words of the command. Returns the exit code. The
 * input is closed afterwards.
 */
export async function runShell(
  { run }: VmContainer,
  command: readonly string[],
  { signal }: Pick<CommandContext, 'signal'>,
  { stdin, stdout, stderr }: ProcessStreams,
): Promise<number> {
  const isTerminal = command.length === 0 && stdin.isTTY && stdout.isTTY;
  const streams: ExecStreams = {
    stdin,
    // A reader that has exited ends this command by its signal.
    onOutput: (name, data) =>
      new Promise((resolve) => (name === 'stdout' ? stdout : stderr).write(data, () => resolve())),
    tty: isTerminal ? terminalOf(stdout) : undefined,
    signal,
  };
  if (isTerminal) stdin.setRawMode(true);
  try {
    const shell = command.length === 0 ? ['-l'] : ['-c', command.join(' ')];
    return await run(['/bin/bash', ...shell], streams);
  } catch (error) {
    if (signal.aborted) return interruptedExit;
    throw error;
  } finally {
    if (isTerminal) stdin.setRawMode(false);
    stdin.destroy();
  }
}

function terminalOf(stdout: NodeJS.WriteStream): NonNullable<ExecStreams['tty']> {
  return {
    size: () => ({ columns: stdout.columns, rows: stdout.rows }),
    onResize: (changed) => {
      stdout.on('resize', changed);
      return () => stdout.off('resize', changed);
    },
  };
}

/**
 * Runs a shell script in a VM and prints its output through the terminal, which escapes control characters.
 * Returns the exit code.
 */
export async function printOutput(
  { run }: VmContainer,
  script: string,
  { signal, terminal }: { readonly signal: AbortSignal; readonly terminal: Terminal },
): Promise<number> {
  const decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') };
  let message = '';
  const printLine = (line: string): void => {
    if (line.trim() !== '') terminal.error(line.trimEnd());
  };
  const onOutput: ExecStreams['onOutput'] = (name, data) => {
    const text = decoders[name].write(Buffer.from(data));
    if (name === 'stdout') return terminal.out(text);
    const lines = `${message}${text}`.split('\n');
    message = lines.pop() ?? '';
    lines.forEach(printLine);
  };
  try {
    const code = await run(['/bin/sh', '-c', script], { onOutput, signal });
    printLine(message);
    return code;
  } catch (error) {
    if (signal.aborted) return interruptedExit;
    throw error;
  }
}
