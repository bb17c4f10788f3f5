// Where GNUstep says that an app's things belong, and whether it can put them there.
//
// Prints NAME=VALUE lines; a test compiles it into a bundle and compares them with the layout.
#import <Foundation/Foundation.h>

@interface AppPaths : NSObject
+ (NSString *)home;
+ (NSString *)applications;
+ (NSString *)documents;
+ (NSString *)preferences;
+ (NSString *)caches;
+ (NSString *)temporary;
+ (BOOL)ensureDirectory:(NSString *)path;
@end

@implementation AppPaths

+ (NSString *)userDirectory:(NSSearchPathDirectory)kind {
  return [NSSearchPathForDirectoriesInDomains(kind, NSUserDomainMask, YES) objectAtIndex:0];
}

+ (NSString *)home {
  return NSHomeDirectory();
}

+ (NSString *)applications {
  return [self userDirectory:NSApplicationDirectory];
}

+ (NSString *)documents {
  return [self userDirectory:NSDocumentDirectory];
}

+ (NSString *)preferences {
  return [[self userDirectory:NSLibraryDirectory] stringByAppendingPathComponent:@"Preferences"];
}

+ (NSString *)caches {
  return [self userDirectory:NSCachesDirectory];
}

+ (NSString *)temporary {
  return NSTemporaryDirectory();
}

/// Whether there is a directory, if need be a new one.
+ (BOOL)ensureDirectory:(NSString *)path {
  NSFileManager *files = [NSFileManager defaultManager];
  BOOL isDirectory = NO;
  if ([files fileExistsAtPath:path isDirectory:&isDirectory]) return isDirectory;
  return [files createDirectoryAtPath:path
          withIntermediateDirectories:YES
                           attributes:nil
                                error:NULL];
}

@end

static void print(const char *name, NSString *value) {
  printf("%s=%s\n", name, value ? [value UTF8String] : "(nil)");
}

static void printFlag(const char *name, BOOL value) {
  print(name, value ? @"yes" : @"no");
}

static void printPaths(void) {
  print("home", [AppPaths home]);
  print("applications", [AppPaths applications]);
  print("documents", [AppPaths documents]);
  print("preferences", [AppPaths preferences]);
  print("caches", [AppPaths caches]);
  print("temporary", [AppPaths temporary]);
  print("support",
        [NSSearchPathForDirectoriesInDomains(NSApplicationSupportDirectory, NSUserDomainMask, YES)
            objectAtIndex:0]);
}

static void printWrites(void) {
  NSString *notes = [[AppPaths documents] stringByAppendingPathComponent:@"Notes/2024"];
  printFlag("ensured", [AppPaths ensureDirectory:notes]);
  printFlag("ensured again", [AppPaths ensureDirectory:notes]);
  printFlag("wrote document", [@"text" writeToFile:[notes stringByAppendingPathComponent:@"a.txt"]
                                        atomically:YES]);
  printFlag("wrote temporary",
            [@"text" writeToFile:[[AppPaths temporary] stringByAppendingPathComponent:@"a.txt"]
                      atomically:YES]);
  NSString *inBundle = [[[NSBundle mainBundle] bundlePath] stringByAppendingPathComponent:@"a.txt"];
  printFlag("wrote bundle", [@"text" writeToFile:inBundle atomically:YES]);
}

static void printDefaults(void) {
  NSUserDefaults *defaults = [NSUserDefaults standardUserDefaults];
  NSInteger launches = [defaults integerForKey:@"launches"] + 1;
  [defaults setInteger:launches forKey:@"launches"];
  printFlag("synchronized", [defaults synchronize]);
  print("launches", [NSString stringWithFormat:@"%d", (int)launches]);
}

static void printBundle(void) {
  NSBundle *bundle = [NSBundle mainBundle];
  print("bundle", [bundle bundlePath]);
  print("identifier", [bundle bundleIdentifier]);
  print("greeting", [bundle localizedStringForKey:@"greeting" value:@"(none)" table:nil]);
}

int main(void) {
  NSAutoreleasePool *pool = [NSAutoreleasePool new];
  printPaths();
  printWrites();
  printDefaults();
  printBundle();
  [pool release];
  return 0;
}
