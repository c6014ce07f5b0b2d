import type { FailedProcess } from '../../bosh/agent-client/agent-client.ts';
import type { AgentRun } from '../run.ts';

/**
 * Returns one line for each process that is not running: how its start program ended, why monit does not
 * count it as running, and the last output of its programs. The line also has the command that shows more
 * output, if the caller knows one.
 */
export function describeFailedProcesses(
  troubled: readonly FailedProcess[],
  { commandInVm, state }: Pick<AgentRun, 'commandInVm' | 'state'>,
): readonly string[] {
  const told = troubled.map(({ name, job, state: how, problem, lastExit, output }) => {
    const whose = job === undefined ? '' : ` of job '${job}'`;
    const why = problem === undefined ? '' : `: ${problem}`;
    const exit = lastExit === undefined ? '' : `, its start program ${lastExit}`;
    const printed = output === '' ? '' : `; its programs printed last:\n${output}`;
    return `Process '${name}'${whose} is ${how}${exit}${why}${printed}`;
  });
  const logs = troubled.filter(({ output }) => output !== '').map(({ name }) => logPath(name));
  const words = ['tail', '-n', '100', ...logs];
  const command = logs.length === 0 ? undefined : commandInVm?.(state.state.current_vm_cid, words);
  return command === undefined ? told : [...told, `This shows more: ${command}`];
}

/** The file where our agent keeps the output of a service's programs (src/agent/monit/program-output.ts). */
const logPath = (name: string): string => `/var/vcap/monit/log/${encodeURIComponent(name)}.log`;
