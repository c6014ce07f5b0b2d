import { existsSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { createConnection } from 'node:net';
import { once } from 'node:events';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { isEmbedded } from '../../doctor/cluster/cluster-facts.ts';
import { wholeCluster } from '../../doctor/cluster/cluster-findings.ts';
import { examineCluster, reachable } from '../../doctor/cluster/examine-cluster.ts';
import { examineNodes } from '../../doctor/examine-nodes.ts';
import { unmet, type Finding } from '../../doctor/finding.ts';
import { readStemcellImage, type StemcellImage } from '../../doctor/read-stemcell-image.ts';
import { tryCluster } from '../../doctor/trial/try-cluster.ts';
import { ProductError } from '../../errors/product-error.ts';
import { ifAllowed } from '../../kubernetes/api.ts';
import { runScript } from '../../kubernetes/client/exec.ts';
import { systemClock } from '../../platform/clock.ts';
import {
  doctorFlags,
  parseDoctorArguments,
  type ExaminationArguments,
  type NodesArguments,
} from '../args/doctor-arguments.ts';
import { embeddedCluster } from '../cluster/embedded-cluster.ts';
import {
  type ChosenKubeconfig,
  describeChoice,
  embeddedKubeconfig,
  environmentKubeconfig,
  kubeconfigPath,
  withKubernetes,
} from '../cluster/kubeconfig.ts';
import type { Command, CommandContext } from '../command.ts';
import type { Installation } from '../installation.ts';
import { interruptible } from '../interruption.ts';
import { nameInstalledFiles } from '../output/name-installed-files.ts';
import { printFindings } from '../output/print-findings.ts';
import { withLiveProgress } from '../output/with-progress.ts';

/**
 * Shows whether a cluster can run VMs, what the CPI may do there and, with --try, whether it works; or, with
 * --with, whether the nodes can run a deployment. The exit code is 1 if a check failed. Nothing stays in the
 * cluster, also after an interrupt.
 */
export const doctor: Command = {
  name: 'doctor',
  usage: '',
  flags: doctorFlags,
  operands: ['other'],
  example: '--kubeconfig ~/.kube/config --namespace bosh',
  summary: 'Check whether a cluster has what the CPI needs, and say what to do; --try also tries it',
  documentation: 'docs/doctor.md',
  json: true,
  run: (args, context) => runDoctor(args, context),
};

/** Runs `doctor`. Tests replace the connection. */
export async function runDoctor(
  args: readonly string[],
  context: CommandContext,
  connect: typeof withKubernetes = withKubernetes,
): Promise<number> {
  const parsed = parseDoctorArguments(args);
  const found = await (parsed.kind === 'nodes'
    ? nodes(parsed, context, connect)
    : cluster(parsed, context, connect));
  const { terminal, installation } = context;
  const findings = found.map((finding) => ({
    ...finding,
    remedy: nameInstalledFiles(finding.remedy, installation.root),
  }));
  printFindings(terminal, findings);
  const failed = findings.filter(({ result }) => result === 'failed').length;
  if (failed === 0) return 0;
  terminal.error(`${failed} of ${findings.length} checks failed`);
  return 1;
}

/**
 * Returns the named kubeconfig, else that of `$KUBECONFIG`, else `~/.kube/config` or, if there is none, that
 * of an embedded cluster. Rejects as embeddedKubeconfig and environmentKubeconfig do.
 */
async function chooseCluster(
  named: string | undefined,
  { installation, environment }: CommandContext,
): Promise<ChosenKubeconfig> {
  const { clusterDirectory } = installation;
  const embedded = kubeconfigPath(clusterDirectory);
  const usual = join(environment['HOME'] ?? homedir(), '.kube', 'config');
  const path =
    named ??
    environmentKubeconfig(environment) ??
    (existsSync(embedded) && !existsSync(usual) ? embedded : usual);
  if (named === undefined && !existsSync(path))
    throw new ProductError(
      'FILE_NOT_FOUND',
      `There is no kubeconfig '${path}'; name the cluster with --kubeconfig or KUBECONFIG, or start the embedded one: 'bosh-kubernetes up'`,
    );
  return resolve(path) === embedded
    ? embeddedKubeconfig(clusterDirectory)
    : { path: resolve(path), isEmbedded: false };
}

/** A stemcell, or no trial of it. */
async function readTrialImage({ trial }: ExaminationArguments): Promise<StemcellImage | undefined> {
  return trial === undefined ? undefined : readStemcellImage(trial.stemcell);
}

async function cluster(
  request: ExaminationArguments,
  context: CommandContext,
  connect: typeof withKubernetes,
): Promise<readonly Finding[]> {
  const { installation, environment, secrets, signal, terminal } = context;
  const choice = await chooseCluster(request.kubeconfig, context);
  const { path: kubeconfig, isEmbedded: isKnown } = choice;
  if (isKnown && request.trial !== undefined) throw noImages('doctor --try');
  const image = await readTrialImage(request);
  const access = { environment, context: request.context, onSecrets: secrets.add };
  const examined = { ...request, root: installation.root };
  const { findings, facts, chosen } = await interruptible(
    withLiveProgress(terminal, 'Examining the cluster', () =>
      connect(
        kubeconfig,
        async (api, login) => ({
          ...(await examineCluster(api, examined, systemClock)),
          chosen: await describeChoice(choice, login, request.context),
        }),
        { ...access, signal },
      ),
    ),
    signal,
    { result: 'The cluster was not examined, and nothing was changed', next: 'run the same command again' },
  );
  terminal.out(`${chosen}\n\n`);
  if (facts === undefined && isKnown) return (await notRunning(installation)) ?? findings;
  if (request.trial === undefined || image === undefined || facts === undefined) return findings;
  // With a copy of its kubeconfig.
  if (isEmbedded(facts)) throw noImages('doctor --try');
  const trial = { ...request, ...request.trial, image };
  const tried = await interruptible(
    withLiveProgress(terminal, 'Trying the cluster', () =>
      // Not with the signal: the trial removes what it made.
      connect(
        kubeconfig,
        (api, login) =>
          tryCluster(trial, {
            ...{ api, facts, signal, clock: systemClock, newUuid: randomUUID, connect: connectTcp },
            exec: ({ namespace = trial.namespace, ...command }) =>
              runScript(login, { namespace, ...command }),
            onProgress: (line) => terminal.error(line),
          }),
        access,
      ),
    ),
    signal,
    {
      result: 'The trial was stopped',
      next: 'the same command starts again, and first removes what is left',
    },
  );
  return [...findings, ...tried];
}

const connectTimeout = 5000;

async function connectTcp(host: string, port: number): Promise<void> {
  const socket = createConnection({ host, port });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(connectTimeout) });
  } finally {
    socket.destroy();
  }
}

/** Returns the row about an embedded cluster that does not run. Undefined: it runs. */
async function notRunning(installation: Installation): Promise<readonly Finding[] | undefined> {
  if (await embeddedCluster(installation).isRunning()) return undefined;
  const requirement = { ...reachable, remedy: "'bosh-kubernetes up' starts it" };
  return [unmet(requirement, wholeCluster, 'the embedded cluster does not run')];
}

async function nodes(
  request: NodesArguments,
  context: CommandContext,
  connect: typeof withKubernetes,
): Promise<readonly Finding[]> {
  const { namespace, imagePullSecrets, parts } = request;
  const { terminal, secrets, environment, signal } = context;
  const choice = await chooseCluster(request.kubeconfig, context);
  const { path: kubeconfig, isEmbedded: isKnown } = choice;
  if (isKnown) throw noImages('a Diego cell');
  const stemcell = await readStemcellImage(request.stemcell);
  const work = withLiveProgress(terminal, 'Examining the nodes', () =>
    connect(
      kubeconfig,
      async (api, access) => {
        // With a copy of its kubeconfig.
        if (isEmbedded({ version: await ifAllowed(api.version()) })) throw noImages('a Diego cell');
        const findings = await examineNodes(
          { ...stemcell, namespace, imagePullSecrets, parts },
          {
            ...{ api, clock: systemClock, signal, onProgress: (line) => terminal.error(line) },
            exec: (pod, container, command) =>
              runScript(access, { namespace, pod, container, command, deadlineMs: 30_000 }),
          },
        );
        return { findings, chosen: await describeChoice(choice, access, request.context) };
      },
      { environment, context: request.context, onSecrets: secrets.add },
    ),
  );
  const { findings, chosen } = await interruptible(work, signal, {
    result: 'The nodes were not examined, and the pods were removed',
    next: 'the same command starts again',
  });
  terminal.out(`${chosen}\n\n`);
  return findings;
}

const noImages = (what: string): ProductError =>
  new ProductError(
    'NOT_SUPPORTED',
    `The embedded cluster runs no containers of images, so ${what} is not possible there; name another cluster with --kubeconfig`,
  );
