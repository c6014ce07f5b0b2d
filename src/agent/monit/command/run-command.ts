import type { ActionAnswer, ProcessStatus } from '../job-supervisor.ts';
import type { ServiceAction } from '../service-chain.ts';
import { helpText, versionText } from './help-text.ts';
import { parseCommand } from './parse-command.ts';
import { statusText, summaryText } from './status-text.ts';
import type { StatusFacts } from './status-text.ts';

/** The output of a command and its exit code. */
export interface CommandResult {
  readonly code: number;
  readonly output: string;
  readonly error: string;
}

/** The parts of the agent that a command uses. */
export interface CommandPorts {
  readonly processes: () => Promise<readonly ProcessStatus[]>;
  readonly request: (name: string, action: ServiceAction) => ActionAnswer;
  readonly reload: () => void;
  readonly facts: () => Promise<StatusFacts>;
}

/**
 * Runs a `monit` command as monit 5.2.5 does. Actions are only accepted here; the agent does them afterwards.
 */
export async function runCommand(words: readonly string[], ports: CommandPorts): Promise<CommandResult> {
  const command = parseCommand(words);
  switch (command.kind) {
    case 'invalid':
      return failed(command.cause);
    case 'version':
      return succeeded(versionText);
    case 'help':
      return succeeded(helpText);
    case 'summary':
      return succeeded(summaryText(await ports.processes(), await ports.facts()));
    case 'status':
      return succeeded(statusText(await ports.processes(), await ports.facts()));
    case 'reload':
      ports.reload();
      return { code: 0, output: '', error: 'Reinitializing monit daemon\n' };
    case 'action': {
      const processes = await ports.processes();
      const problems = namesOf(command, processes).flatMap((name) => {
        const problem = problemOf(ports.request(name, command.action));
        return problem === undefined ? [] : [`action failed -- ${problem}`];
      });
      return problems.length === 0 ? succeeded('') : failed(...problems);
    }
  }
}

function namesOf(
  { group, name }: { readonly group: string | undefined; readonly name: string | undefined },
  processes: readonly ProcessStatus[],
): readonly string[] {
  const names = processes.map((process) => process.name);
  if (group !== undefined) {
    const wanted = group.toLowerCase();
    const isMember = ({ definition }: ProcessStatus): boolean =>
      definition.groups.some((one) => one.toLowerCase() === wanted);
    return processes.filter(isMember).map((process) => process.name);
  }
  return name === 'all' ? names : [name ?? ''];
}

function problemOf(answer: ActionAnswer): string | undefined {
  if (answer === 'accepted') return undefined;
  return answer === 'busy'
    ? 'Other action already in progress -- please try again later'
    : 'There is no service by that name';
}

const succeeded = (output: string): CommandResult => ({ code: 0, output, error: '' });

function failed(...causes: readonly string[]): CommandResult {
  return { code: 1, output: '', error: causes.map((cause) => `monit: ${cause}\n`).join('') };
}
