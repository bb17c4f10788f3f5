// The places of an app in Objective-C, by the frameworks' own functions: each answers with the
// layout of the container when the program runs inside.
//
//   gcc $(gnustep-config --objc-flags) AppPaths.m -o AppPaths $(gnustep-config --base-libs)
#import <Foundation/Foundation.h>

@interface AppPaths : NSObject
+ (NSString *)homePath;      // holds Documents, Library and tmp
+ (NSString *)appPath;       // the bundle: nothing can be written there
+ (NSString *)docPath;       // the person's documents, backed up
+ (NSString *)libPrefPath;   // settings, backed up; to be written by NSUserDefaults
+ (NSString *)libCachePath;  // what can be made again
+ (NSString *)tmpPath;       // gone after the last process of the app has ended
+ (BOOL)hasLive:(NSString *)path;  // whether the directory is there, if need be a new one
@end

@implementation AppPaths

+ (NSString *)userDirectory:(NSSearchPathDirectory)kind {
  return [NSSearchPathForDirectoriesInDomains(kind, NSUserDomainMask, YES) objectAtIndex:0];
}

+ (NSString *)homePath {
  return NSHomeDirectory();
}

+ (NSString *)appPath {
  return [[NSBundle mainBundle] bundlePath];
}

+ (NSString *)docPath {
  return [self userDirectory:NSDocumentDirectory];
}

+ (NSString *)libPrefPath {
  return [[self userDirectory:NSLibraryDirectory] stringByAppendingPathComponent:@"Preferences"];
}

+ (NSString *)libCachePath {
  return [self userDirectory:NSCachesDirectory];
}

+ (NSString *)tmpPath {
  return NSTemporaryDirectory();
}

+ (BOOL)hasLive:(NSString *)path {
  NSFileManager *files = [NSFileManager defaultManager];
  BOOL isDirectory = NO;
  if ([files fileExistsAtPath:path isDirectory:&isDirectory]) return isDirectory;
  return [files createDirectoryAtPath:path
          withIntermediateDirectories:YES
                           attributes:nil
                                error:NULL];
}

@end

int main(void) {
  NSAutoreleasePool *pool = [NSAutoreleasePool new];
  printf("homePath=%s\n", [[AppPaths homePath] UTF8String]);
  printf("appPath=%s\n", [[AppPaths appPath] UTF8String]);
  printf("docPath=%s\n", [[AppPaths docPath] UTF8String]);
  printf("libPrefPath=%s\n", [[AppPaths libPrefPath] UTF8String]);
  printf("libCachePath=%s\n", [[AppPaths libCachePath] UTF8String]);
  printf("tmpPath=%s\n", [[AppPaths tmpPath] UTF8String]);
  NSString *letters = [[AppPaths docPath] stringByAppendingPathComponent:@"Letters/2024"];
  printf("hasLive=%d%d\n", [AppPaths hasLive:letters], [AppPaths hasLive:letters]);
  [pool release];
  return 0;
}
