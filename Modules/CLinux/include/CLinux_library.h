// Libraries that are loaded when the first of their functions is called: relocating one takes a
// millisecond or two, and few of the programs' uses need it.
//
// A library's header lists the names of its functions, once, and makes of them a structure of
// pointers. The types are those that the library's own headers declare, and a function that is not
// in the list can't be called: there is nothing to link it with.
#pragma once

/// The declaration of a function in such a structure.
#define CLINUX_FUNCTION(name) __typeof__(name) *_Nonnull name;
/// The name of a function in a list of them, in the same order.
#define CLINUX_FUNCTION_NAME(name) #name,

/// Loads a library and finds functions of it.
///
/// Null, or what is wrong in words. The library stays for the life of the process.
const char *_Nullable clinux_load_library(const char *_Nonnull library,
                                          const char *_Nonnull const *_Nonnull names, int count,
                                          void *_Nullable *_Nonnull functions);
