import { throwIfInterrupted } from '../../errors/throw-if-interrupted.ts';
import type { Command } from '../command.ts';
import { interruptible } from '../interruption.ts';
import { downloadLogs, tailCommand } from '../ssh/logs.ts';
import { sshArguments, runOpenssh, scpArguments } from '../ssh/openssh.ts';
import {
  parseSshArguments,
  sshFlags,
  sshUsage,
  parseScpArguments,
  parseLogsArguments,
} from '../ssh/ssh-arguments.ts';
import { withSshSession } from '../ssh/with-ssh-session.ts';

export const ssh: Command = {
  name: 'ssh',
  usage: sshUsage.ssh,
  operands: ['deployment', 'other'],
  flags: sshFlags.ssh,
  example: 'director.yml -- uptime',
  summary: 'Log in to the VM of a manifest, or run a command there',
  async run(args, context) {
    const { command, ...request } = parseSshArguments(args);
    return withSshSession(request, context, ({ login }) =>
      runOpenssh('ssh', sshArguments(login, command), context),
    );
  },
};

export const scp: Command = {
  name: 'scp',
  usage: sshUsage.scp,
  operands: ['deployment', 'path in VM'],
  flags: sshFlags.scp,
  example: 'director.yml report.txt vm:/tmp/',
  summary: 'Copy files from or to the VM of a manifest (vm:PATH)',
  async run(args, context) {
    const { paths, recursive, ...request } = parseScpArguments(args);
    const work = withSshSession(request, context, async ({ login }) => {
      const code = await runOpenssh('scp', scpArguments(login, paths, recursive), {
        ...context,
        onMessage: (message: string): void => context.terminal.error(message),
      });
      if (code !== 0) throwIfInterrupted(context.signal);
      return code;
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
  summary: 'Download the logs of the VM of a manifest, or follow them',
  async run(args, context) {
    const parsed = parseLogsArguments(args);
    return withSshSession(parsed, context, async (session) => {
      const run = { ...context, onMessage: (message: string): void => context.terminal.error(message) };
      if (parsed.follow || parsed.lines !== undefined) {
        // Jobs write the logs. The terminal escapes their control characters.
        const onOutput = (text: string): void => context.terminal.out(text);
        return runOpenssh('ssh', sshArguments(session.login, tailCommand(parsed)), { ...run, onOutput });
      }
      const path = await interruptible(downloadLogs(session, parsed, run), context.signal, {
        result: 'The logs were not downloaded, and nothing of them is left',
        next: 'run the same command again',
      });
      context.terminal.out(`Logs: '${path}'\n`);
      return 0;
    });
  },
};
