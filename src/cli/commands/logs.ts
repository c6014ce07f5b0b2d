import type { Command } from '../command.ts';
import { downloadLogs } from '../ssh/download-logs.ts';
import { sshArguments } from '../ssh/openssh-arguments.ts';
import { runOpenssh } from '../ssh/run-openssh.ts';
import { parseLogsArguments, sshUsage } from '../ssh/ssh-arguments.ts';
import { tailCommand } from '../ssh/tail-command.ts';
import { withSshSession } from '../ssh/with-ssh-session.ts';

export const logs: Command = {
  name: 'logs',
  usage: sshUsage.logs,
  summary: 'Download the logs of the VM of a manifest, or follow them, as bosh logs --director does',
  async run(words, context) {
    const parsed = parseLogsArguments(words);
    return withSshSession(parsed, context, async (session) => {
      const run = { ...context, onMessage: (message: string): void => context.terminal.error(message) };
      if (parsed.follow || parsed.lines !== undefined) {
        // Jobs write the logs. The terminal escapes their control characters.
        const onOutput = (text: string): void => context.terminal.out(text);
        return runOpenssh('ssh', sshArguments(session.login, tailCommand(parsed)), { ...run, onOutput });
      }
      const path = await downloadLogs(session, parsed, run);
      context.terminal.out(`Logs: '${path}'\n`);
      return 0;
    });
  },
};
