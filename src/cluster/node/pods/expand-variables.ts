/**
 * The kernel's longest argument or variable (execve(2): MAX_ARG_STRLEN, with its final NUL), and the usual
 * limit of all of them.
 */
const longest = { word: 131_071, all: 2 * 1024 * 1024 };

/**
 * Expands the variables of one container. A variable that names an earlier one ten times is ten times as
 * long, so what is longer than any program can be given is refused before it is made: the node's memory
 * belongs to all pods.
 */
export class Expansion {
  #total = 0;

  /**
   * Replaces `$(NAME)` by that variable's value; `$$` stands for one `$`, and an unknown name stays as it is
   * (kubernetes: third_party/forked/golang/expansion/expand.go). Throws when the result, called `what` in the
   * message, or all results together are too long.
   */
  expand(text: string, variables: ReadonlyMap<string, string>, what: string): string {
    const parts: string[] = [];
    let length = 0;
    for (const [match, plain, name] of text.matchAll(/([^$]+)|\$(?:\$|\(([^()]*)\))?/g)) {
      const part = name !== undefined ? (variables.get(name) ?? match) : (plain ?? '$');
      length += Buffer.byteLength(part);
      if (length > longest.word) {
        throw new Error(`${what} would be longer than ${longest.word} bytes, with its variables expanded`);
      }
      parts.push(part);
    }
    this.#total += length;
    if (this.#total > longest.all) {
      throw new Error(`environment and command of the container would be longer than ${longest.all} bytes`);
    }
    return parts.join('');
  }
}
