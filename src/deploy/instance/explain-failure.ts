import type { FailedProcess } from '../../bosh/agent-client/agent-client.ts';
import { ProductError, isProductError } from '../../errors/product-error.ts';
import { withContext } from '../../platform/error-chain.ts';
import type { AgentRun } from '../session.ts';
import { readLogEnds } from './read-log-ends.ts';

export type ScriptName = 'pre-start' | 'post-start' | 'pre-stop' | 'drain' | 'post-stop';

/**
 * Runs scripts of the VM's jobs as the step `step`. The agent reports only the jobs whose scripts failed. The
 * error adds the last lines of their logs, and how to continue. If the logs cannot be read, it names them,
 * and the command that shows them (if the caller knows one).
 */
export async function withScriptErrors<T>(
  run: AgentRun,
  { step, name }: { readonly step: string; readonly name: ScriptName },
  action: () => Promise<T>,
): Promise<T> {
  return withContext(step, async () => {
    try {
      return await action();
    } catch (error) {
      const jobs = isProductError(error, 'AGENT_ERROR') ? failedJobs(error.message) : [];
      if (!isProductError(error) || jobs.length === 0) throw error;
      const output = await describeOutput(run, name, jobs);
      throw new ProductError(error.code, `${error.message} ${output}${nextStep(name, jobs)}`, {
        cause: error.cause,
      });
    }
  });
}

const logDirectory = '/var/vcap/sys/log';

async function describeOutput(
  { agent, commandInVm, state }: AgentRun,
  name: ScriptName,
  jobs: readonly string[],
): Promise<string> {
  const paths = jobs.flatMap((job) => ['stdout', 'stderr'].map((stream) => `${job}/${name}.${stream}.log`));
  const ends = await readLogEnds(agent, paths);
  if (ends !== undefined && ends.size > 0)
    return [...ends].map(([path, end]) => `${logDirectory}/${path} ends with:\n${end}\n`).join('');
  const vmCid = state.state.current_vm_cid;
  if (ends !== undefined) return `Its logs below ${logDirectory} of VM '${vmCid}' are empty. `;
  const logs = paths.filter((path) => path.endsWith('.stderr.log')).map((path) => `${logDirectory}/${path}`);
  const command = commandInVm?.(vmCid, ['cat', ...logs]);
  const shown = command === undefined ? '' : `; this shows it: ${command}`;
  return `Its output is in ${logs.join(', ')} of VM '${vmCid}'${shown}. `;
}

/** Parses the job names from the agent's message (bosh-agent: agent/script/parallel_script.go). */
function failedJobs(message: string): readonly string[] {
  const names = / Failed Jobs: ([\w., -]+?)(?:\. Successful Jobs: |\.?$)/.exec(message)?.[1];
  return names === undefined ? [] : names.split(', ');
}

/**
 * `--skip-drain` of the bosh CLI's env commands skips only drain, although its help names more scripts
 * (deployment/instance/instance.go).
 */
function nextStep(name: ScriptName, jobs: readonly string[]): string {
  const files = jobs.map((job) => `/var/vcap/jobs/${job}/bin/${name}`).join(', ');
  const again = 'and run the same command again';
  switch (name) {
    case 'pre-start':
    case 'post-start':
      return `Fix the job or its properties ${again}`;
    case 'drain':
      return `Fix ${files} in the VM ${again}, or skip drain with --skip-drain`;
    case 'pre-stop':
    case 'post-stop':
      return (
        `Fix ${files} in the VM ${again}; --skip-drain does not skip it. To continue without it, delete the VM in the cloud: ` +
        'its disks stay, and the next run continues from there'
      );
  }
}

/**
 * Returns one line for each process that is not running: how its start program ended, why monit does not
 * count it as running, and the last output of its programs. The line also has the command that shows more
 * output, if the caller knows one.
 */
export function describeFailedProcesses(
  failed: readonly FailedProcess[],
  { commandInVm, state }: Pick<AgentRun, 'commandInVm' | 'state'>,
): readonly string[] {
  const lines = failed.map(({ name, job, state: how, problem, lastExit, output }) => {
    const whose = job === undefined ? '' : ` of job '${job}'`;
    const why = problem === undefined ? '' : `: ${problem}`;
    const exit = lastExit === undefined ? '' : `, its start program ${lastExit}`;
    const printed = output === '' ? '' : `; its programs printed last:\n${output}`;
    return `Process '${name}'${whose} is ${how}${exit}${why}${printed}`;
  });
  const logs = failed.filter(({ output }) => output !== '').map(({ name }) => logPath(name));
  const args = ['tail', '-n', '100', ...logs];
  const command = logs.length === 0 ? undefined : commandInVm?.(state.state.current_vm_cid, args);
  return command === undefined ? lines : [...lines, `This shows more: ${command}`];
}

/** The file where our agent keeps the output of a service's programs (src/agent/monit/program-output.ts). */
const logPath = (name: string): string => `/var/vcap/monit/log/${encodeURIComponent(name)}.log`;

/** The advice for an operator, by the code of the failed request. The codes are Node's (errno, DNS, TLS). */
const steps: readonly (readonly [RegExp, string])[] = [
  [
    /^ECONNREFUSED$/,
    "nothing listens there yet: if this lasts, read the agent's log (kubectl logs) and compare the port with the VM's Service",
  ],
  [
    /^(EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EHOSTDOWN)$/,
    'this machine has no route to that address, or a firewall drops the packets: cloud_provider.mbus must name an address of the VM, of its ' +
      'Service or of a node that this machine can reach (docs/your-cluster.md, the way to the agent)',
  ],
  [
    /^(ENOTFOUND|EAI_AGAIN)$/,
    'this machine cannot resolve that name: correct the host in cloud_provider.mbus',
  ],
  [/^(EPROTO|ERR_SSL_|HPE_)/, 'the server there is not the agent: correct the port in cloud_provider.mbus'],
  [
    /^(ECONNRESET|EPIPE)$/,
    'a proxy or load balancer in between closes the connection: this ends when the agent listens',
  ],
];

/**
 * Returns the message of an AGENT_UNREACHABLE error and what to do about it. An error without a code means
 * that no response arrived in time.
 */
export function explainUnreachable({ message, cause }: ProductError): string {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'ETIMEDOUT';
  const [, step] = steps.find(([codes]) => codes.test(code)) ?? [];
  return step === undefined ? message : `${message}; ${step}`;
}
