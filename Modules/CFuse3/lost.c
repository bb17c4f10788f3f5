// Requests that may have been carried out without the kernel's knowing.
//
// Where a process dies over a request, and its caller is killed before another one has read it
// again, the kernel sends it to nobody. It goes on with what it knew before: that there is no such
// name, or what mode a file has. So it is told to ask again.
#include "internal.h"
#include <string.h>

// Where the names of a request begin behind its header, and how many it has; whether it begins with
// another node.
struct form {
  uint8_t offset, names, has_other;
};

static struct form form_of(uint32_t opcode) {
  switch (opcode) {
    case OPCODE_UNLINK:
    case OPCODE_RMDIR:
    case OPCODE_SYMLINK: return (struct form){0, 1, 0};
    case OPCODE_MKDIR: return (struct form){8, 1, 0};
    case OPCODE_MKNOD:
    case OPCODE_CREATE: return (struct form){16, 1, 0};
    case OPCODE_LINK: return (struct form){8, 1, 1};
    case OPCODE_RENAME: return (struct form){8, 2, 1};
    case OPCODE_RENAME2: return (struct form){16, 2, 1};
    default: return (struct form){0, 0, 0};
  }
}

void cfuse_note_names(struct cfuse_trail *trail, const struct in_header *header, ssize_t count) {
  struct form form = form_of(header->opcode);
  trail->lengths[0] = 0;
  trail->lengths[1] = 0;
  if (form.names == 0) return;
  const char *next = (const char *)(header + 1) + form.offset;
  const char *end = (const char *)header + count;
  trail->other = 0;
  if (form.has_other && next <= end) memcpy(&trail->other, header + 1, sizeof trail->other);
  for (uint32_t index = 0, used = 0; index < form.names && next < end; index++) {
    size_t length = strnlen(next, (size_t)(end - next));
    // No name is longer than 255 bytes.
    if (used + length > sizeof trail->names) return;
    memcpy(trail->names + used, next, length);
    trail->lengths[index] = (uint32_t)length;
    used += (uint32_t)length;
    next += length + 1;
  }
}

void cfuse_note_fresh(struct cfuse_journal *journal, const struct in_header *header) {
  // These overtake others.
  if (is_forget(header->opcode) || header->opcode == OPCODE_INTERRUPT) return;
  __atomic_store_n(&journal->is_fresh, 1, __ATOMIC_RELEASE);
}

// What is sent again comes before all else.
int cfuse_journal_is_drained(const struct cfuse_journal *journal) {
  if (__atomic_load_n(&journal->is_fresh, __ATOMIC_ACQUIRE)) return 1;
  for (uint32_t place = 0;; place++) {
    struct cfuse_look look = cfuse_journal_look(journal, place);
    if (look.number == 0) return place > 0;
    if (look.serving) return 0;
  }
}

int cfuse_journal_doubt(struct cfuse_context *context, uint32_t place) {
  enum { ENOUGH = 2 };
  struct cfuse_record *left = &context->journal->left[place];
  const struct cfuse_trail *trail = &context->journal->trails[CFUSE_THREADS + place];
  if (cfuse_load_state(left) == CFUSE_IDLE || is_forget(left->opcode)) return 0;
  if (left->doubts >= ENOUGH) return 0;
  left->doubts++;
  struct form form = form_of(left->opcode);
  cfuse_invalidate_attributes(context->device, left->node);
  if (form.has_other) cfuse_invalidate_attributes(context->device, trail->other);
  uint64_t directories[] = {left->node, trail->other};
  const char *name = trail->names;
  for (uint32_t index = 0; index < form.names; index++) {
    if (trail->lengths[index])
      cfuse_expire_name(context->device, directories[index], name, trail->lengths[index]);
    name += trail->lengths[index];
  }
  return 1;
}
