/**
 * All errors that a user can get. A code is stable: scripts may match on it. A BOSH caller of the CPI reads
 * `boshType` and `okToRetry` (bosh: src/bosh-director/lib/clouds/errors.rb). docs/errors.md shows `meaning`.
 */
export interface ErrorEntry {
  readonly boshType: string;
  readonly okToRetry: boolean;
  readonly meaning: string;
}

/**
 * Part of the message of a create_vm that could not remove everything that it created. BOSH has no error for
 * that, so the deployer recognises VM_LEFT_BEHIND by this text.
 */
export const notAllRemoved = 'not everything of it could be removed';

const cloudError = (meaning: string): ErrorEntry => ({
  boshType: 'Bosh::Clouds::CloudError',
  okToRetry: false,
  meaning,
});

export const errorTable = {
  // input from outside
  INVALID_REQUEST: cloudError('the CPI request is not one JSON object with method and arguments'),
  INVALID_ARGUMENT: cloudError('an argument of a CPI call has the wrong shape'),
  INVALID_CONFIG: cloudError('the CPI configuration or a kubeconfig lacks something or has the wrong shape'),
  // CPI verbs
  NOT_IMPLEMENTED: {
    boshType: 'Bosh::Clouds::NotImplemented',
    okToRetry: false,
    meaning: 'the CPI has no such method, or the cluster lacks the interface it needs',
  },
  NOT_SUPPORTED: {
    boshType: 'Bosh::Clouds::NotSupported',
    okToRetry: false,
    meaning: 'the request cannot be met here; nothing was changed',
  },
  VM_NOT_FOUND: {
    boshType: 'Bosh::Clouds::VMNotFound',
    okToRetry: false,
    meaning: 'there is no VM with that cid',
  },
  DISK_NOT_FOUND: {
    boshType: 'Bosh::Clouds::DiskNotFound',
    okToRetry: false,
    meaning: 'there is no disk with that cid',
  },
  DISK_NOT_ATTACHED: {
    boshType: 'Bosh::Clouds::DiskNotAttached',
    okToRetry: false,
    meaning: 'the disk is not attached to that VM',
  },
  STEMCELL_NOT_FOUND: {
    boshType: 'Bosh::Clouds::StemcellNotFound',
    okToRetry: false,
    meaning: 'there is no stemcell with that cid',
  },
  VM_CREATION_FAILED: {
    boshType: 'Bosh::Clouds::VMCreationFailed',
    okToRetry: false,
    meaning:
      'the VM could not be created; all its objects were deleted, or the message names those that could not be',
  },
  VM_CREATION_FAILED_RETRY: {
    boshType: 'Bosh::Clouds::VMCreationFailed',
    okToRetry: true,
    meaning: 'the VM could not be created now; a retry may succeed',
  },
  VM_NOT_REBOOTED: cloudError('the pod of a VM is in a terminal phase, so its container cannot start again'),
  DISK_ATTACHED_ELSEWHERE: cloudError('the disk is attached to another VM; nothing was changed'),
  DISK_NOT_ATTACHABLE: cloudError(
    'the disk could not be attached; the attempt was rolled back, or the message says that the rollback failed',
  ),
  CONTEXT_MISMATCH: cloudError('a call names objects in different contexts; nothing was changed'),
  DISK_BUSY: cloudError('the disk is still in use, so it was not detached or deleted'),
  DISK_WOULD_BE_LOST: cloudError(
    'the claim of an attached disk was deleted outside BOSH, and detaching the disk would delete its data; nothing was changed',
  ),
  VM_NOT_RESTARTED: cloudError(
    'the VM did not start again after its disks had been changed; its disks and state are intact',
  ),
  NODE_LOST: cloudError(
    'a node does not respond, and pods that may still run there were not force-deleted; the message has the command to resolve this',
  ),
  DISK_UPDATE_FAILED: cloudError(
    'a disk could neither get its new size or type nor be restored to the previous one; its content is intact',
  ),
  NETWORK_IN_USE: cloudError('VMs are in the network, so it was not deleted'),
  DEADLINE: cloudError('a wait reached its deadline'),
  UNSCHEDULABLE: cloudError(
    'until the deadline, no node of the cluster had room for a pod or was allowed to run it',
  ),
  // Kubernetes
  KUBERNETES_API: cloudError('the Kubernetes API answered with an error'),
  KUBERNETES_INVALID: cloudError('the Kubernetes API rejected a request as invalid'),
  KUBERNETES_UNAUTHORIZED: cloudError('the Kubernetes API does not accept the credentials'),
  KUBERNETES_FORBIDDEN: cloudError(
    'a role, an admission plugin or a policy of the cluster rejected a request',
  ),
  KUBERNETES_NOT_FOUND: cloudError('an object, namespace or kind that was needed is not in the cluster'),
  KUBERNETES_CONFLICT: cloudError('another client changed an object at the same time'),
  KUBERNETES_BUSY: cloudError(
    'the Kubernetes API, or a proxy in front of it, was too busy or could not respond',
  ),
  QUOTA_EXCEEDED: cloudError('a ResourceQuota of the namespace is used up'),
  NO_DISK_SPACE: {
    boshType: 'Bosh::Clouds::NoDiskSpace',
    okToRetry: true,
    meaning: 'a ResourceQuota leaves no room for the disk; nothing was changed',
  },
  KUBERNETES_UNREACHABLE: cloudError('the Kubernetes API could not be reached'),
  // deployer
  INTERRUPTED: cloudError(
    'the operator interrupted the run at a safe point; the next run continues from there',
  ),
  SIGNAL_REFUSED: cloudError('a program that has to be ended runs as another user'),
  DEPLOYMENT_LOCKED: cloudError('another run works on the same deployment'),
  STATE_INVALID: cloudError('a deployment state file cannot be read or has the wrong shape'),
  STATE_NOT_RESTORED: cloudError(
    "`state restore` did not write a state file, because the cluster does not tell for certain which VM and disk are the deployment's",
  ),
  OTHER_CLUSTER: cloudError(
    'the VM and disks of a deployment are on another cluster than this one; nothing was changed',
  ),
  CPI_FAILED: cloudError('the CPI process failed, hung or did not answer with JSON'),
  CPI_ERROR: cloudError('the CPI answered a call with an error'),
  VM_LEFT_BEHIND: cloudError(
    'the CPI could not create the VM, and objects of it may remain; the next run continues with them',
  ),
  CPI_NOT_USABLE: cloudError(
    'the CPI or the stemcell does not meet what the deployer needs; nothing was changed',
  ),
  DOWNLOAD_FAILED: cloudError('an archive could not be downloaded; nothing was changed'),
  INSTALLATION_FAILED: cloudError('the CPI could not be installed on this machine'),
  INSTANCE_NOT_RUNNING: cloudError('the jobs of an instance did not start in time'),
  SSH_FAILED: cloudError("OpenSSH's client is missing, or one of its programs failed"),
  FILE_NOT_WRITABLE: cloudError(
    'the system refused to write a file, for example on a full disk; the file is unchanged, and the next run continues from there',
  ),
  HOME_NOT_WRITABLE: cloudError(
    'the folder of BOSH_KUBERNETES_HOME cannot be created or written; nothing was changed',
  ),
  PATH_OUTSIDE: cloudError(
    'a name or a link leads out of the folder that it must stay in; nothing was removed',
  ),
  FILE_NOT_TRUSTED: cloudError(
    'a file or folder that only its owner may write is a link, of the wrong kind, or belongs to another user; it was not read',
  ),
  // embedded cluster
  CLUSTER_UNSUPPORTED: cloudError('this machine lacks a feature that the pods of the embedded cluster need'),
  CLUSTER_START: cloudError(
    'the embedded cluster did not start (its log has the cause), does not run, or belongs to another user',
  ),
  CLUSTER_STOP: cloudError('the embedded cluster did not stop in time, or belongs to another user'),
  CLUSTER_JOURNAL_CORRUPT: cloudError(
    'the embedded cluster cannot read its journal; its objects may be lost',
  ),
  DESTROY_REFUSED: cloudError(
    'destroy would also remove VMs or disks that are not of the deployment of its manifest; nothing was removed',
  ),
  CLUSTER_PORT_TAKEN: cloudError('the port of the embedded cluster is in use by another process'),
  ADDRESS_TAKEN: cloudError(
    'a process on this machine listens at the address of a VM of the embedded cluster; no VM was changed',
  ),
  MOUNT_IN_THE_WAY: cloudError('a directory was not removed because something is mounted in it'),
  VOLUME_BUSY: cloudError('a volume of the embedded node is still used by a process'),
  // static-ip
  STATIC_IP_NOT_INSTALLED: cloudError("the static-ip plugin cannot be put in front of this node's network"),
  // agent
  AGENT_SETTINGS_INVALID: cloudError(
    'the agent settings or its agent.json are missing or have the wrong shape',
  ),
  AGENT_ARGUMENT_INVALID: cloudError('an argument of an agent call has the wrong shape'),
  AGENT_NOT_SUPPORTED: cloudError('the agent cannot do this yet; nothing was changed'),
  AGENT_TASK_UNKNOWN: cloudError('the agent has no task with that id'),
  AGENT_BLOB_INVALID: cloudError('a blob is not in the blobstore of the VM or does not match its digest'),
  AGENT_BLOB_NOT_FOUND: cloudError('the blobstore of the director does not have a blob'),
  AGENT_BLOBSTORE_FAILED: cloudError('the agent cannot read from or write to its blobstore'),
  AGENT_BUS_FAILED: cloudError(
    'the agent cannot use new credentials of the message bus; it keeps the previous ones',
  ),
  AGENT_ARCHIVE_INVALID: cloudError('an archive cannot be unpacked safely'),
  AGENT_COMPILATION_FAILED: cloudError('the packaging script of a package failed'),
  AGENT_SCRIPT_FAILED: cloudError('a script of a job failed'),
  AGENT_MONIT_INVALID: cloudError('a monit file of a job cannot be read'),
  AGENT_JOB_FAILED: cloudError('a process of a job could not be started or stopped'),
  AGENT_OWNER_UNAVAILABLE: cloudError('a user or group that a job requests is unknown or not mapped here'),
  AGENT_ACCOUNT_FAILED: cloudError('an account for bosh ssh could not be created or removed on the VM'),
  AGENT_PATH_UNSAFE: cloudError(
    'a path that job users can write is a link or has the wrong kind; root does not follow it',
  ),
  AGENT_BPM_CONFIG_INVALID: cloudError("a job's bpm.yml cannot be read"),
  AGENT_BPM_FAILED: cloudError('a command of the bpm of the embedded node failed'),
  AGENT_DISK_FAILED: cloudError('a persistent disk could not be mounted or unmounted on the VM'),
  // BOSH formats
  FILE_NOT_FOUND: cloudError('a named file cannot be read'),
  TRACE_EMPTY: cloudError('a log to draw has no readable record of a CPI call'),
  LIST_INVALID: cloudError(
    'a list of a director is incomplete, or contradicts the others or the cluster; nothing was deleted',
  ),
  FILE_EXISTS: cloudError('the file or folder to write exists already; nothing was changed'),
  DIGEST_INVALID: cloudError('a digest cannot be read'),
  DIGEST_MISMATCH: cloudError('a file does not have the expected digest'),
  ARCHIVE_INVALID: cloudError('an archive is corrupt or would write outside its folder'),
  MANIFEST_INVALID: cloudError(
    'the manifest, an ops file or a variables file is invalid; nothing was changed',
  ),
  VARS_STORE_INVALID: cloudError(
    'the vars store cannot be read or written, or a variable cannot be generated',
  ),
  RELEASE_INVALID: cloudError('a release archive or release directory is invalid'),
  RELEASE_UNCOMMITTED: cloudError('a release directory has uncommitted changes; nothing was written'),
  RELEASE_EXISTS: cloudError('a release directory has that version already; nothing was written'),
  STEMCELL_INVALID: cloudError('a stemcell archive is invalid'),
  STEMCELL_BUILD_UNSUPPORTED: cloudError('this machine lacks something that building a stemcell needs'),
  STEMCELL_BUILD_FAILED: cloudError('a stemcell could not be built; nothing was published'),
  STEMCELL_LOAD_FAILED: cloudError(
    'an image could not be loaded onto a node; it may be on other nodes already',
  ),
  IMAGE_INVALID: cloudError('an OCI image, or a layout of one, is invalid'),
  // a director and the tunnel to it
  DIRECTORY_INVALID: cloudError('a file of the folder that `director init` writes is invalid'),
  DIRECTOR_NOT_POSSIBLE: cloudError(
    'a cluster lacks something that a BOSH director, or its Cloud Foundry, needs; nothing was written',
  ),
  TUNNEL_REFUSED: cloudError('no pod has the destination of a tunnel connection; nothing was dialled'),
  TUNNEL_NOT_STARTED: cloudError('the tunnel could not be started, or a proxy cannot be used'),
  POD_PORT_CLOSED: cloudError("a port of a pod's loopback address accepts no connection"),
  // volume services
  BROKER_CONFIG_INVALID: cloudError('the configuration of the volume broker is invalid; it did not start'),
  DRIVER_CONFIG_INVALID: cloudError('the configuration of the volume driver is invalid; it did not start'),
  STORE_UNAVAILABLE: cloudError('the store of the volume broker cannot be read or written'),
  DRIVER_SPEC_INVALID: cloudError(
    'a spec file of a volume driver is invalid or not trusted; it was not used',
  ),
  DRIVER_NOT_FOUND: cloudError('the folders for spec files have no volume driver of that name'),
  DRIVER_UNREACHABLE: cloudError('a volume driver did not respond in time, or not in its protocol'),
  DRIVER_FAILED: cloudError('a volume driver reported an error that is only for the operator'),
  DRIVER_REFUSED: cloudError(
    "a volume driver rejected a request, for a reason that the app's developer may read",
  ),
  VOLUME_MOUNT_INVALID: cloudError('the volume_mounts of a binding are invalid; nothing was mounted'),
  CONTAINER_FAILED: cloudError('an app was not started with its volumes; they are unmounted again'),
  CONTAINER_STUCK: cloudError(
    'an app still runs, or one of its volumes is still mounted; the next run of `volumes cell` tries to remove it',
  ),
  REGISTRY_UNREACHABLE: cloudError('a container registry could not be reached'),
  REGISTRY_UNAUTHORIZED: cloudError('a container registry rejected the user, or a request of the user'),
  REGISTRY_BUSY: cloudError('a container registry was too busy, or could not respond, in several attempts'),
  REGISTRY_ERROR: cloudError('a container registry answered with an error'),
  REGISTRY_DELETES_NOTHING: cloudError(
    'a container registry does not allow deletion, so the image of a stemcell still exists',
  ),
  MONIT_INVALID: cloudError('the agent of the stemcell does not support the monit file of a job'),
  TEMPLATE_INVALID: cloudError('a job template cannot be rendered'),
  RUBY_FAILED: cloudError('the ruby that renders job templates cannot be run, or exited in a template'),
  AGENT_UNREACHABLE: cloudError('no process responds at the address of the agent'),
  AGENT_UNTRUSTED: cloudError(
    'the agent and this program do not accept each other: certificate, user or password',
  ),
  OTHER_AGENT: cloudError(
    "another VM's agent responds at the address of a VM's agent; no request was sent to it",
  ),
  AGENT_ERROR: cloudError('the agent answered a call with an error'),
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof errorTable;
