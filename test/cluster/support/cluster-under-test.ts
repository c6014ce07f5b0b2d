import type { Profile } from '../../../src/cpi/vm/profile.ts';
import type { Access } from '../../../src/kubernetes/access.ts';
import type { UpstreamAgent } from '../../support/upstream-programs.ts';

/** What a command on a node printed. */
export interface NodeOutcome {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A node whose processes the suite may trouble. */
export interface NodeUnderTest {
  readonly name: string;
  /** A command in the node's mount and network namespaces. */
  run(command: readonly string[]): Promise<NodeOutcome>;
  /** SIGSTOP to all of its processes, pods' among them, and back. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  /** kill -9, and a new one. */
  restart(program: 'kubelet' | 'containerd'): Promise<void>;
  /** As a power cut: every process and mount is gone, the disk of the node stays. */
  stop(): Promise<void>;
  /**
   * Resolves when the node is Ready again. Until `withoutNetwork` is done only pods with the node's own network can start,
   * attachments among them.
   */
  start(withoutNetwork?: () => Promise<void>): Promise<void>;
}

/** A stemcell that the nodes can run. */
export interface Stemcell {
  /** Its cid. */
  readonly image: string;
  /** The path of the light stemcell. */
  readonly archive: string;
}

/** The cluster that the suites run against. */
export interface ClusterUnderTest {
  readonly access: Access;
  readonly kubeconfig: string;
  /** The words that run what an operator types, built from the cluster's own module. */
  readonly kubectl: readonly string[];
  readonly kubeletRootDirectory: string;
  /** With our agent, for VMs of any profile; made at the first use. */
  readonly stemcell: Stemcell;
  /** As `stemcell build` makes it for that profile, with our agent or an upstream one. */
  stemcellFor(profile: Profile, upstream?: UpstreamAgent): Promise<Stemcell>;
  /** A fixed address of the pod network: suites agree on numbers from 0 so that none is used twice; undefined where it cannot pin one. */
  fixedAddress(number: number): string | undefined;
  /** What the volume driver saw happen to a volume that must not, one sentence each. */
  violations(volume: string): Promise<readonly string[]>;
  /** Empty where the suite may not touch them (KUBECONFIG). */
  readonly nodes: readonly NodeUnderTest[];
}
