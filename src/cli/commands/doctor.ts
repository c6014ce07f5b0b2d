import { resolve } from 'node:path';
import { examineNodes } from '../../doctor/examine-nodes.ts';
import type { Finding } from '../../doctor/finding.ts';
import { readStemcellImage } from '../../doctor/read-stemcell-image.ts';
import { ProductError } from '../../errors/product-error.ts';
import { runScript } from '../../kubernetes/client/exec.ts';
import { systemClock } from '../../platform/clock.ts';
import { doctorFlags, doctorUsage, parseDoctorArguments } from '../args/doctor-arguments.ts';
import { expandHome } from '../args/parse-command-line.ts';
import { environmentKubeconfig, kubeconfigPath, withKubernetes } from '../cluster/kubeconfig.ts';
import type { Command, CommandContext } from '../command.ts';
import { interruptible } from '../interruption.ts';
import { printTable } from '../output/terminal.ts';

/**
 * Shows whether the nodes of a cluster can run a deployment, by trying it in a pod on each node. The exit
 * code is 1 if a check failed. Nothing stays in the cluster, also after an interrupt.
 */
export const doctor: Command = {
  name: 'doctor',
  usage: doctorUsage,
  flags: doctorFlags,
  operands: ['other'],
  example: '--with cloud-foundry --stemcell stemcell/stemcell.tgz',
  summary: 'Try on each node of a cluster what the VMs of Cloud Foundry need, and say what to do',
  documentation: 'docs/operating.md',
  json: true,
  async run(args, context) {
    const findings = await examine(args, context);
    const { terminal } = context;
    printTable(terminal, {
      content: 'checks',
      header: ['Node', 'Check', 'Result', 'Details', 'Needed by', 'What to do'],
      rows: findings.map(({ subject, check, result, detail, neededBy, remedy }) => [
        ...[subject, check, result, detail, neededBy, remedy],
      ]),
    });
    const failed = findings.filter(({ result }) => result === 'failed').length;
    if (failed === 0) return 0;
    terminal.error(`${failed} of ${findings.length} checks failed; their rows say what to do`);
    return 1;
  },
};

async function examine(
  args: readonly string[],
  { installation, terminal, secrets, environment, signal }: CommandContext,
): Promise<Finding[]> {
  const { namespace, imagePullSecrets, parts, context, ...parsed } = parseDoctorArguments(args);
  const kubeconfig = resolve(
    parsed.kubeconfig ?? environmentKubeconfig(environment) ?? expandHome('~/.kube/config'),
  );
  if (kubeconfig === kubeconfigPath(installation.clusterDirectory)) throw embedded();
  const stemcell = await readStemcellImage(parsed.stemcell);
  const work = withKubernetes(
    kubeconfig,
    (api, access) =>
      examineNodes(
        { ...stemcell, namespace, imagePullSecrets, parts },
        {
          ...{ api, clock: systemClock, signal, onProgress: (line) => terminal.error(line) },
          exec: (pod, container, command) =>
            runScript(access, { namespace, pod, container, command, deadlineMs: 30_000 }),
        },
      ),
    { environment, context, onSecrets: secrets.add },
  );
  return interruptible(work, signal, {
    result: 'The nodes were not examined, and the pods were removed',
    next: 'the same command starts again',
  });
}

const embedded = (): ProductError =>
  new ProductError(
    'NOT_SUPPORTED',
    'The embedded cluster runs no containers of images, so it cannot run a Diego cell; name another cluster with --kubeconfig',
  );
