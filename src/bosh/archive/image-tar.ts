import { shellWord } from '../../platform/shell-word.ts';

/** Tars of a container image: in OCI layout, or of Docker's own form. */
export type ImageTar = 'oci-archive' | 'docker-archive';

/**
 * Names in such tars (OCI image-spec, image-layout.md; moby: image/spec/v1.2.md), whose layers are `<digest>.tar`, or
 * `<id>/layer.tar`. Current Docker writes both forms into one tar.
 */
const names =
  /^(oci-layout|index\.json|manifest\.json|repositories|blobs(\/sha256(\/[0-9a-f]{64})?)?|[0-9a-f]{64}(\.json|\.tar|\/(VERSION|json|layer\.tar))?)$/u;

/** Tells by the names of a tar's entries, as they pass, whether it is that of a container image. */
export class ImageTarGuess {
  /** Of what has passed. */
  kind: ImageTar | undefined;

  /** Whether such a tar may have an entry of that name, which has neither `./` before nor `/` behind it. */
  mayHave(name: string): boolean {
    if (name === 'oci-layout') this.kind = 'oci-archive';
    if (name === 'manifest.json') this.kind ??= 'docker-archive';
    return names.test(name);
  }
}

/** What such a file is, and the command that makes a folder in OCI layout of it. */
export function imageTarProblem(kind: ImageTar, path: string): string {
  const word = shellWord(path);
  return kind === 'oci-archive'
    ? `'${path}' is the tar of a container image in OCI layout. Make a folder of it: mkdir layout && tar -xf ${word} -C layout`
    : `'${path}' is the tar of a container image as docker save makes it. Make a folder in OCI layout of it: skopeo copy docker-archive:${word} oci:layout:stemcell`;
}
