import { ProductError } from '../../errors/product-error.ts';
import { throwIfInterrupted } from '../../errors/throw-if-interrupted.ts';
import { shellWord } from '../../platform/shell-word.ts';
import type { Command, CommandContext } from '../command.ts';
import { interruptible } from '../interruption.ts';
import { containerSource, downloadLogs, sshSource, tailCommand, tailScript } from '../ssh/logs.ts';
import { sshArguments, runOpenssh, scpArguments } from '../ssh/openssh.ts';
import {
  parseSshArguments,
  sshFlags,
  sshUsage,
  parseScpArguments,
  parseLogsArguments,
} from '../ssh/ssh-arguments.ts';
import { printOutput, runShell } from '../ssh/vm-container.ts';
import { withSshSession } from '../ssh/with-ssh-session.ts';

export const ssh: Command = {
  name: 'ssh',
  usage: sshUsage.ssh,
  operands: ['deployment', 'other'],
  flags: sshFlags.ssh,
  example: 'director.yml -- uptime',
  documentation: 'docs/day-two.md',
  summary: 'Log in to the VM of a manifest, or run a command there',
  async run(args, context) {
    const { command, ...request } = parseSshArguments(args);
    return withSshSession(request, context, {
      overSsh: ({ login }) => runOpenssh('ssh', sshArguments(login, command), context),
      inContainer: (container) => runShell(container, command, context, process),
    });
  },
};

export const scp: Command = {
  name: 'scp',
  usage: sshUsage.scp,
  operands: ['deployment', 'path in VM'],
  flags: sshFlags.scp,
  example: 'director.yml report.txt vm:/tmp/',
  documentation: 'docs/day-two.md',
  summary: 'Copy files from or to the VM of a manifest (vm:PATH)',
  async run(args, context) {
    const { paths, recursive, ...request } = parseScpArguments(args);
    const work = withSshSession(request, context, {
      overSsh: async ({ login }) => {
        const code = await runOpenssh('scp', scpArguments(login, paths, recursive), {
          ...context,
          onMessage: (message: string): void => context.terminal.error(message),
        });
        if (code !== 0) throwIfInterrupted(context.signal);
        return code;
      },
      inContainer: ({ vmCid }) => {
        const copy = `bosh-kubernetes ssh ${shellWord(request.inputs.manifestPath)} -- cat PATH > FILE`;
        throw new ProductError('SSH_FAILED', `VM '${vmCid}' runs no sshd, which scp needs; use: ${copy}`);
      },
    });
    return interruptible(work, context.signal, {
      result: 'The copy is not complete',
      next: 'the same command copies everything again',
    });
  },
};

export const logs: Command = {
  name: 'logs',
  usage: sshUsage.logs,
  operands: ['deployment', 'other'],
  flags: sshFlags.logs,
  example: 'director.yml --job hello --num 20',
  documentation: 'docs/day-two.md',
  summary: 'Download the logs of the VM of a manifest, or follow them',
  async run(args, context) {
    const parsed = parseLogsArguments(args);
    const shows = parsed.follow || parsed.lines !== undefined;
    const run = { ...context, onMessage: (message: string): void => context.terminal.error(message) };
    // Jobs write the logs. The terminal escapes their control characters.
    const onOutput = (text: string): void => context.terminal.out(text);
    return withSshSession(parsed, context, {
      overSsh: (session) =>
        shows
          ? runOpenssh('ssh', sshArguments(session.login, tailCommand(parsed)), { ...run, onOutput })
          : printPath(downloadLogs(sshSource(session, run), parsed, context), context),
      inContainer: (container, withAgent) =>
        shows
          ? printOutput(container, tailScript(parsed), context)
          : withAgent((vm) =>
              printPath(downloadLogs(containerSource(container, vm, context), parsed, context), context),
            ),
    });
  },
};

async function printPath(
  download: Promise<string>,
  { signal, terminal }: Pick<CommandContext, 'signal' | 'terminal'>,
): Promise<number> {
  const path = await interruptible(download, signal, {
    result: 'The logs were not downloaded, and nothing of them is left',
    next: 'run the same command again',
  });
  terminal.out(`Logs: '${path}'\n`);
  return 0;
}
